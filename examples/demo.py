"""The whole way in one command, `hatch run demo`: a web archive in, clean pages and reasons out."""

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from corpus.archives import make_archives
from curator_cli.recipes import load_recipe
from curator_core import LocalExecutor, RunResult, WorkflowResult
from curator_dedup import ExactDeduplicationWorkflow, FuzzyDeduplicationWorkflow
from curator_report import transient_progress
from curator_text import LanguageFilter, StopWordLanguageFilter
from curator_text.language_id.models import model_problem
from rich.console import Console
from rich.markup import escape
from rich.table import Table

RECIPE = Path(__file__).parent / "text" / "web_quality.yaml"
LEAST_PAGES = 100
NEXT = """\
  hatch run curate preview examples/text/web_quality.yaml    stage by stage
  hatch run curate stages text.gopher_quality_filter         what can be set
  change a limit in examples/text/web_quality.yaml, and run the demo again"""


def main() -> int:
    wanted = _arguments()
    console = Console(highlight=False)
    raw, output = wanted.out / "raw", wanted.out / "output"
    wanted.out.mkdir(parents=True, exist_ok=True)
    (wanted.out / ".gitignore").write_text("*\n")
    with console.status("Making raw web archives"):
        is_new = make_archives(raw, wanted.pages)
    shutil.rmtree(output, ignore_errors=True)
    made = "" if is_new else ", made by an earlier demo"
    console.print(f"Archives    {_told(raw)}{made}")
    console.print(f"Recipe      {_short(RECIPE)}")
    with console.status(f"Cleaning them on {os.cpu_count()} cores"):
        result = clean(raw, output)
    failed = [record for record in result.quarantined if record.whole_task]
    if failed:
        one = failed[0]
        console.print(f"{len(failed)} batches failed, such as one in {one.stage}: {one.reason}")
        console.print(f"All of them are in {result.run_dir}/quarantine", soft_wrap=True)
        return 1
    with console.status("Looking for duplicates among those that are kept"):
        copies = without_copies(output)
    report(console, result, copies, output)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"), help="the folder for it all")
    parser.add_argument("--pages", type=int, default=4000, help="how many raw pages to make")
    wanted = parser.parse_args()
    if wanted.pages < LEAST_PAGES:
        parser.error(f"--pages is {wanted.pages}, but must be {LEAST_PAGES} or more")
    return wanted


def clean(raw: Path, output: Path) -> RunResult:
    settings = {
        "input.file_paths": raw / "*.warc.gz",
        "output.path": output / "kept",
        "output.dropped_path": output / "dropped",
    }
    recipe = load_recipe(RECIPE, [f"{key}={value}" for key, value in settings.items()])
    pipeline = recipe.pipeline()
    pipeline.stages = [_with_what_is_here(stage) for stage in pipeline.stages]
    # The table below says all of it, so the progress leaves no line.
    return pipeline.run(LocalExecutor(), observers=transient_progress(), progress=False)


def without_copies(output: Path) -> list[WorkflowResult]:
    """Of equal pages one stays, and then of pages of nearly the same words."""
    kept, different, unique = (str(output / name) for name in ("kept", "different", "unique"))
    exact = ExactDeduplicationWorkflow(kept, different)
    fuzzy = FuzzyDeduplicationWorkflow(different, unique)
    # So few are done before a process of its own would have started.
    here = LocalExecutor(workers=0)
    return [way.run(here, observers=transient_progress(), progress=False) for way in (exact, fuzzy)]


def _with_what_is_here(stage: Any) -> Any:
    """The model of languages has no wheel for some machines; stop words do nearly as well here."""
    if isinstance(stage, LanguageFilter) and model_problem(stage.model):
        return StopWordLanguageFilter(language="en").with_(name=stage.name)
    return stage


def report(console: Console, result: RunResult, copies: list[WorkflowResult], output: Path) -> None:
    kept = [*result.stages.values()][-1].items_in
    reading, *rules = [(name, one) for name, one in result.stages.items() if one.items_dropped]
    pages = kept + sum(counts.items_dropped for _, counts in rules)
    records = _reasons(reading[1].reasons, 4).replace("record of type ", "")
    console.print(f"Not pages   {records}", soft_wrap=True)
    console.print()
    console.print(_table(dict(rules), kept, pages, output))
    told = f"{pages:,} pages in, {kept:,} kept, {pages - kept:,} dropped"
    console.print(f"\n{told}: {result.seconds:.1f} s.\n{_told_of(copies)}\n")
    console.print(f"{_damage(result)}\n", style="yellow")
    pages_of_copies = Path(copies[-1].report or output)
    for what, place in {**_places(result, output), "Duplicates": pages_of_copies}.items():
        console.print(f"{what:11} {_short(place)}", soft_wrap=True)
    console.print(f"\nNext\n{NEXT}", soft_wrap=True)


def _told_of(copies: list[WorkflowResult]) -> str:
    equal, near = (found.metadata["removed"] for found in copies)
    seconds = sum(found.seconds for found in copies)
    left = copies[-1].metadata["kept"]
    return f"{equal:,} equal and {near:,} nearly equal, {left:,} unique: {seconds:.1f} s."


def _table(rules: Mapping[str, Any], kept: int, pages: int, output: Path) -> Table:
    table = Table(box=None, expand=True, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("dropped by", no_wrap=True)
    for name in ("pages", "share", "left"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("because, and one of them", no_wrap=True, overflow="ellipsis", ratio=1)
    examples, left = _examples(output / "dropped"), pages
    for name, counts in rules.items():
        dropped = counts.items_dropped
        left -= dropped
        because = f"{_reasons(counts.reasons, 3)}\n[dim]{_beginning(examples.get(name, ''))}[/]"
        table.add_row(name, f"{dropped:,}", f"{dropped / pages:.1%}", f"{left:,}", because)
    table.add_row()
    table.add_row("[green]kept", f"{kept:,}", f"{kept / pages:.1%}", f"{kept:,}", "")
    return table


def _reasons(reasons: Mapping[str, int], most: int) -> str:
    """The most frequent ones: `84 too_few_words, 3 others`."""
    ranked = sorted(reasons.items(), key=lambda one: -one[1])
    told = [f"{number:,} {escape(reason)}" for reason, number in ranked[:most]]
    others = sum(number for _, number in ranked[most:])
    return ", ".join([*told, f"{others:,} others"] if others else told)


def _damage(result: RunResult) -> str:
    """What could not be read, and one such place."""
    records = sum(record.items for record in result.quarantined)
    if not records:
        return "Nothing was damaged."
    one = min(result.quarantined, key=lambda record: record.where)
    where = Path(one.where).name
    return f"{records} damaged places were set aside, such as {where}:\n{one.reason}"


def _examples(folder: Path) -> dict[str, str]:
    """The shortest page that each rule dropped."""
    found: dict[str, str] = {}
    for row in _rows(folder):
        rule, text = row["_dropped_by"], row["text"]
        found[rule] = min(found.get(rule, text), text, key=lambda text: (len(text), text))
    return found


def _rows(folder: Path) -> Iterator[dict[str, str]]:
    from pyarrow import parquet

    for path in sorted(folder.glob("*.parquet")):
        yield from parquet.read_table(path, columns=["_dropped_by", "text"]).to_pylist()


def _beginning(text: str) -> str:
    return escape(" ".join(text[:80].split()))


def _places(result: RunResult, output: Path) -> dict[str, Path]:
    run = Path(result.run_dir or output)
    return {
        "Kept": output / "kept",
        "Unique": output / "unique",
        "Dropped": output / "dropped",
        "Set aside": run / "quarantine",
        "Run": run,
    }


def _told(raw: Path) -> str:
    files = sorted(raw.glob("*.warc.gz"))
    size = sum(path.stat().st_size for path in files)
    return f"{_short(raw)}: {len(files)} files, {size / 1e6:.1f} MB"


def _short(path: Path) -> str:
    """As seen from here, where it lies below."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


if __name__ == "__main__":
    sys.exit(main())
