"""`curate image report`: a page with the pictures of a run's filters."""

from curator_cli.page_command import command_for_page


@command_for_page
def report(run_dir: str, output: str | None) -> str:
    """Show what each filter of RUN kept and dropped: histograms, and sheets of pictures."""
    from curator_image.report.filters import write_pictures

    return write_pictures(run_dir, output)
