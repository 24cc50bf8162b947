"""`curate preview`."""

from typing import TYPE_CHECKING

import click

from curator_cli.options import RecipeArguments, on_recipe, with_output
from curator_cli.output import Screen

if TYPE_CHECKING:
    from curator_core.preview import Preview

_STYLES = {"deleted": "red strike", "inserted": "green", "dropped": "yellow", "failed": "red"}


@click.command()
@on_recipe
@click.option(
    "-n",
    "records",
    default=20,
    show_default=True,
    type=click.IntRange(1),
    help="Number of sample records.",
)
@click.option("--html", "as_page", is_flag=True, help="Write a page with pictures, and show where.")
@with_output
def preview(screen: Screen, arguments: RecipeArguments, records: int, as_page: bool) -> None:
    """Show what each stage does to a sample of records. Nothing is written to the output.

    The sample comes from files all over the input, and is the same each time.
    Shows what each stage changed, what it dropped and why, and a few records from end to end.
    """
    from curator_core.preview import preview as run_preview

    recipe = arguments.recipe()
    plan = recipe.first_pipeline().build(recipe.executor())
    seen = run_preview(plan, records, pictures=as_page)
    page = _write_page(seen) if as_page else None
    screen.print_json({**seen.to_json(), **({"page": page} if page else {})})
    show_preview(screen, seen)
    if workflow := next((step for step in recipe.steps if step.kind == "workflow"), None):
        screen.print_line()
        screen.print_line(
            f"The preview ends before {workflow.id!r}: a workflow compares all records."
        )
    if page:
        screen.print_line()
        screen.print_line(f"page: {page}")


def show_preview(screen: Screen, seen: "Preview", *, brief: bool = False) -> None:
    """Print a preview, in colours if the terminal has them. If brief, without most examples."""
    if screen.as_json:
        return
    from rich.text import Text

    console = screen.console
    colored = console.color_system is not None
    for line in seen.lines(min(console.width, 120), colored=colored, brief=brief):
        spans = [(text, _STYLES.get(style, style)) for text, style in line]
        console.print(Text.assemble(*spans), no_wrap=True, overflow="ellipsis")


def _write_page(seen: "Preview") -> str:
    from curator_cli.preview_page import write_page

    return write_page(seen)
