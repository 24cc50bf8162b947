"""The command `curate audio report`, which writes a page about a run of recordings."""

from curator_cli.page_command import command_for_page


@command_for_page
def report(run_dir: str, output: str | None) -> str:
    """Show what each rule of RUN kept and dropped: hours, histograms, players."""
    from curator_audio.report.page import write_page

    return write_page(run_dir, output)
