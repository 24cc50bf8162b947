"""The whole way in one command, `hatch run demo`: raw web pages in, clean pages and reasons out."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import corpus
from curator_core import RunResult
from curator_core.local.executor import LocalExecutor
from curator_core.progress import Manner, manner
from curator_core.recipes import load_recipe
from rich.console import Console
from rich.markup import escape
from rich.table import Table

RECIPE = Path(__file__).parent / "web_clean.yaml"
NEXT = """\
  hatch run curate preview examples/web_clean.yaml    what each stage does
  hatch run curate stages text.word_count_filter      what can be set, and how
  change a limit in examples/web_clean.yaml, and run the demo again"""


def main() -> int:
    wanted = _arguments()
    console = Console(highlight=False)
    raw, output = wanted.out / "raw", wanted.out / "output"
    wanted.out.mkdir(parents=True, exist_ok=True)
    (wanted.out / ".gitignore").write_text("*\n")
    with console.status("Making raw web pages"):
        is_new = corpus.make(raw, wanted.documents)
    shutil.rmtree(output, ignore_errors=True)
    made = "" if is_new else ", made by an earlier demo"
    console.print(f"Raw pages   {_told(raw)}{made}")
    console.print(f"Recipe      {_short(RECIPE)}")
    with console.status(f"Cleaning them on {os.cpu_count()} cores"):
        result = clean(raw, output)
    failed = [record for record in result.quarantined if record.whole_task]
    if failed:
        one = failed[0]
        console.print(f"{len(failed)} batches failed, such as one in {one.stage}: {one.reason}")
        console.print(f"All of them are in {result.run_dir}/quarantine", soft_wrap=True)
        return 1
    report(console, result, output)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"), help="the folder for it all")
    parser.add_argument("--documents", type=int, default=8000, help="how many raw pages to make")
    return parser.parse_args()


def clean(raw: Path, output: Path) -> RunResult:
    settings = {
        "input.file_paths": raw / "*.jsonl*",
        "output.path": output / "kept",
        "output.dropped_path": output / "dropped",
    }
    recipe = load_recipe(RECIPE, [f"{key}={value}" for key, value in settings.items()])
    with manner(Manner(with_line=False)):  # the table below says all of it
        return recipe.pipeline().run(LocalExecutor())


def report(console: Console, result: RunResult, output: Path) -> None:
    kept = [*result.stages.values()][-1].items_in
    dropped = sum(counts.items_dropped for counts in result.stages.values())
    console.print()
    console.print(_table(result, kept, kept + dropped, output))
    pages = f"{kept + dropped:,} pages in, {kept:,} kept, {dropped:,} dropped"
    console.print(
        f"\n{pages}: {result.seconds:.1f} s.\n"
        "Duplicates were not looked for: those of the raw pages are among the kept ones.\n"
    )
    console.print(f"{_damage(result)}\n", style="yellow")
    for what, place in _places(result, output).items():
        console.print(f"{what:11} {_short(place)}", soft_wrap=True)
    console.print(f"\nNext\n{NEXT}", soft_wrap=True)


def _table(result: RunResult, kept: int, pages: int, output: Path) -> Table:
    table = Table(box=None, expand=True, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("dropped by", no_wrap=True)
    table.add_column("pages", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("because, and one of them", no_wrap=True, overflow="ellipsis", ratio=1)
    examples = _examples(output / "dropped")
    for name, counts in result.stages.items():
        for reason, number in counts.reasons.items():
            because = _why(reason, examples.get((name, reason), ""))
            table.add_row(name, f"{number:,}", f"{number / pages:.1%}", because)
    table.add_row()
    table.add_row("[green]kept", f"{kept:,}", f"{kept / pages:.1%}", "")
    return table


def _damage(result: RunResult) -> str:
    """What could not be read, and one such place."""
    lines = sum(record.items for record in result.quarantined)
    if not lines:
        return "No line was damaged."
    one = min(result.quarantined, key=lambda record: record.where)
    return f"{lines} damaged lines were set aside, such as {Path(one.where).name}:\n{one.reason}"


def _examples(folder: Path) -> dict[tuple[str, str], str]:
    """The shortest page that was dropped for each reason."""
    found: dict[tuple[str, str], str] = {}
    for row in _rows(folder):
        cause, text = (row["_dropped_by"], row["_dropped_because"]), row["text"]
        found[cause] = min(found.get(cause, text), text, key=lambda text: (len(text), text))
    return found


def _rows(folder: Path) -> Iterator[dict[str, str]]:
    for path in sorted(folder.glob("*.jsonl")):
        with open(path, encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def _why(reason: str, example: str) -> str:
    begins = escape(" ".join(example[:80].split()))
    return f"{escape(reason)}\n[dim]{begins}[/]" if begins else escape(reason)


def _places(result: RunResult, output: Path) -> dict[str, Path]:
    run = Path(result.run_dir or output)
    return {
        "Kept": output / "kept",
        "Dropped": output / "dropped",
        "Set aside": run / "quarantine",
        "Run": run,
    }


def _told(raw: Path) -> str:
    files = sorted(raw.glob("*.jsonl*"))
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
