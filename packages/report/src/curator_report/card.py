"""Dataset card of a run: the report as Markdown, with the front matter of Hugging Face."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from curator_core.io.filesystems import join, open_filesystem
from curator_core.logs import visible
from curator_core.model.contents import LANGUAGE
from curator_core.model.formatting import count, duration, estimate, share, shortened, size
from curator_core.model.secrets import redact
from curator_core.run.totals import Amount, totals_of

from curator_report.curation_record import read_record
from curator_report.dataset_files import DatasetFiles, dataset_files
from curator_report.distributions import most_common, quantile
from curator_report.histograms import number
from curator_report.overview import costs, inputs_of, utc
from curator_report.run_record import RunRecord
from curator_report.samples import in_order
from curator_report.stage_tables import FunnelStep, steps
from curator_report.summary import shown_command

if TYPE_CHECKING:
    import pyarrow as pa

FILE = "card.md"

_MOST_SAMPLES = 3
_SAMPLE_LENGTH = 600
_SIZES = (
    (10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"),
    (10**7, "1M<n<10M"), (10**8, "10M<n<100M"), (10**9, "100M<n<1B"), (10**10, "1B<n<10B"),
    (10**11, "10B<n<100B"), (10**12, "100B<n<1T"),
)  # fmt: skip
_LANGUAGE = re.compile(r"([a-z]{2,3})(?:[_-][A-Z][a-z]{3})?")
"""A code of ISO 639, with a script or not."""

_DTYPES = {"double": "float64", "float": "float32", "halffloat": "float16"}


def render_card(run_dir: str, license_id: str | None = None) -> str:
    """Return the card of a run. Secrets are masked; dropped records are not part of it."""
    import yaml

    record = read_record(run_dir, in_short=True)
    files = dataset_files(record)
    head = yaml.safe_dump(
        front_matter(record, files, license_id),
        sort_keys=False, allow_unicode=True, default_flow_style=False, width=100,
    )  # fmt: skip
    return redact(f"---\n{head}---\n\n" + "\n\n".join(_blocks(record)) + "\n")


# Front matter


def front_matter(
    record: RunRecord, files: DatasetFiles, license_id: str | None = None
) -> dict[str, Any]:
    """Return the metadata of the card, with the names that Hugging Face gives its fields."""
    found: dict[str, Any] = {"pretty_name": record.name}
    if license_id:
        found["license"] = license_id.lower()
    if languages := _languages(record):
        found["language"] = languages
    found["size_categories"] = [size_category(files.records)]
    found["tags"] = ["curator"]
    found["dataset_info"] = _dataset_info(record, files)
    found["configs"] = [
        {
            "config_name": "default",
            "data_files": [{"split": one.name, "path": one.pattern} for one in files.splits],
        }
    ]
    return found


def _dataset_info(record: RunRecord, files: DatasetFiles) -> dict[str, Any]:
    """Return features, splits and sizes. The sizes of splits are those of records in memory."""
    in_memory = sum(counts.bytes_in for counts in record.result.stages.values()
                    if counts.files_out and counts.records_in)  # fmt: skip
    total = in_memory or files.file_bytes
    splits = [
        {
            "name": one.name,
            "num_bytes": round(total * one.file_bytes / (files.file_bytes or 1)),
            "num_examples": one.records,
        }
        for one in files.splits
    ]
    features = {} if files.schema is None else {"features": features_of(files.schema)}
    sizes = {
        "download_size": files.file_bytes,
        "dataset_size": sum(int(str(one["num_bytes"])) for one in splits),
    }
    return {**features, "splits": splits, **sizes}


def features_of(schema: "pa.Schema") -> list[dict[str, Any]]:
    """Return the columns as `datasets` writes them on cards."""
    return [{"name": field.name, **_feature(field.type)} for field in schema]


def _feature(kind: "pa.DataType") -> dict[str, Any]:
    import pyarrow.types as types

    if types.is_struct(kind):
        inner = (kind.field(place) for place in range(kind.num_fields))
        return {"struct": [{"name": field.name, **_feature(field.type)} for field in inner]}
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return {"list": _short(_feature(kind.value_type))}
    if types.is_map(kind):
        entry = {"struct": [{"name": name, **_feature(one)} for name, one in
                            (("key", kind.key_type), ("value", kind.item_type))]}  # fmt: skip
        return {"list": _short(entry)}
    if types.is_dictionary(kind):
        return _feature(kind.value_type)
    return {"dtype": _DTYPES.get(str(kind), str(kind))}


def _short(feature: dict[str, Any]) -> Any:
    """Return an element of a list in its short form: a type, or the fields of a struct."""
    return feature.get("dtype") or feature.get("struct") or feature


def size_category(records: int) -> str:
    return next((name for limit, name in _SIZES if records < limit), "n>1T")


def _languages(record: RunRecord) -> list[str]:
    """Return the languages that the written records have, or that a filter was set to keep."""
    contents = totals_of(record.result.stages).written.contents
    measured = contents.values.get(LANGUAGE, {}) if contents else {}
    names = most_common(measured) or list(_kept_languages(record.facts.get("plan", [])))
    codes = (_LANGUAGE.fullmatch(name) for name in names)
    return list(dict.fromkeys(code[1] for code in codes if code))


def _kept_languages(plan: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for stage in plan:
        if "language" not in str(stage.get("stage", "")).lower():
            continue
        options = stage.get("options", {})
        for option in (options.get("language"), options.get("languages")):
            yield from (one for one in (option if isinstance(option, list) else [option])
                        if isinstance(one, str))  # fmt: skip


# Text


def _blocks(record: RunRecord) -> Iterator[str]:
    yield f"# {_plain(record.name)}"
    if description := record.facts.get("description"):
        yield _plain(str(description))
    yield from _totals(record)
    yield "## How it was made\n\n" + _bullets(_facts(record))
    if recipe := _recipe(record.path):
        yield "The recipe:\n\n" + _fenced(recipe, "yaml")
    found = steps(record.result.stages)
    if found:
        yield "## What each stage kept\n\n" + _funnel(found, record)
    yield from _distributions(record)
    yield from _samples(record)


def _totals(record: RunRecord) -> Iterator[str]:
    totals = totals_of(record.result.stages)
    read, written = totals.read, totals.written
    first, last = record.facts.get("records") or ("record", "record")
    noun = f"{last}s" if first == last else f"{first}s, {last}s"
    before, after = _amount(read, noun), _amount(written, noun)
    rows = [(name, before.get(name, ""), after[name]) for name in after if after[name]]
    if rows:
        yield "## Totals\n\n" + _table(("", "before", "after"), rows)


def _amount(amount: Amount, noun: str) -> dict[str, str]:
    found = {noun: count(amount.records)}
    if amount.words:
        found["words, about"] = estimate(amount.words)
    if amount.playing_ms:
        found["duration"] = duration(amount.playing_ms / 1000)
    if amount.num_bytes:
        found["size of files"] = size(amount.num_bytes)
    if amount.files:
        found["files"] = count(amount.files)
    return found


def _facts(record: RunRecord) -> Iterator[str]:
    facts = record.facts
    version = facts.get("packages", {}).get("curator-core", "")
    yield f"Made with Curator {version}".rstrip() + f", on {utc(facts.get('started'))[:10]}."
    if command := shown_command(facts.get("command") or ()):
        yield f"Command: {_code(command)}"
    if inputs := inputs_of(facts.get("plan", [])):
        yield "Input: " + ", ".join(map(_code, inputs[:5]))
    yield "Cost: " + ", ".join(costs(record))
    if record.state != "done":
        yield f"This run is not complete: its state is {record.state}."
    if quarantined := sum(one.items for one in record.result.quarantined):
        yield f"{count(quarantined)} records failed and are not part of this dataset."


def _recipe(run_dir: str) -> str:
    fs, root = open_filesystem(run_dir)
    path = join(root, "recipe.yaml")
    return str(fs.cat_file(path).decode("utf-8", "replace")) if fs.exists(path) else ""


def _funnel(found: Sequence[FunnelStep], record: RunRecord) -> str:
    reasons = {
        name: ", ".join(sorted(counts.reasons, key=lambda one: -counts.reasons[one])[:3])
        for name, counts in record.result.stages.items()
    }
    rows = [
        (
            step.name,
            count(step.items_not_kept) if step.items_not_kept else "",
            count(step.items),
            f"made of {count(step.made_of)}" if step.made_of else share(step.items, step.of),
            reasons.get(step.name, "") if step.items_not_kept else "",
        )
        for step in found
    ]
    return _table(("stage", "removed", "left", "share", "why"), rows)


def _distributions(record: RunRecord) -> Iterator[str]:
    totals = totals_of(record.result.stages)
    rows = []
    for name, amount in (("before", totals.read), ("after", totals.written)):
        numbers = amount.contents.numbers if amount.contents else {}
        for column, bins in numbers.items():
            if column == "words" and not amount.words:
                continue
            shown = (number(quantile(bins, part)) for part in (0.05, 0.25, 0.5, 0.75, 0.95))
            rows.append((column, name, *shown))
    if rows:
        rows.sort(key=lambda row: row[0])
        head = ("per record", "", "5 %", "25 %", "median", "75 %", "95 %")
        yield "## Distributions\n\nEstimated from a sample.\n\n" + _table(head, rows)
    contents = totals.written.contents
    languages = contents.values.get(LANGUAGE, {}) if contents else {}
    if languages:
        total = sum(languages.values())
        shares = [(name, share(languages[name], total)) for name in most_common(languages, 0.001)]
        yield "Languages:\n\n" + _table(("language", "share"), shares[:20])


def _samples(record: RunRecord) -> Iterator[str]:
    kept = [one for one in in_order(record.history.samples, record.result.stages)
            if one.get("is_kept")]  # fmt: skip
    if kept:
        yield "## Examples"
    for sample in kept[:_MOST_SAMPLES]:
        text = str(sample.get("before", ""))
        cut = f"{text[:_SAMPLE_LENGTH]}…" if len(text) > _SAMPLE_LENGTH else text
        yield _fenced(cut)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose columns after the first are numbers, except for reasons."""
    align = ["---" if place == 0 or name == "why" else "---:" for place, name in enumerate(head)]
    lines = [head, align, *([_plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_MARKUP = re.compile(r"([\\`*_\[\]<>|])")


def _plain(text: str) -> str:
    """Return a text that Markdown shows as it is, in one line."""
    return _MARKUP.sub(r"\\\1", visible(shortened(text, 300)))


def _code(text: str) -> str:
    """Return a text as code, in more backticks than it contains."""
    line = visible(shortened(text, 500))
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    return f"{ticks} {line} {ticks}" if "`" in line else f"{ticks}{line}{ticks}"


def _fenced(text: str, language: str = "") -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{visible(text).rstrip()}\n{fence}"
