"""The first lines of a report: totals before and after, input, output, command, time and cost."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curator_core.model.formatting import count, counted, duration, estimate, share, size
from curator_core.model.usage import Usage
from curator_core.run.totals import totals_of

from curator_report.run_record import RunRecord
from curator_report.stage_tables import FunnelStep, Stages, steps
from curator_report.summary import shown_command

_MOST_PLACES = 3
_INPUT_OPTIONS = (
    "file_paths",
    "paths",
    "path",
    "urls",
    "url",
    "folder",
    "input_path",
    "input_paths",
)


@dataclass(frozen=True)
class TotalCard:
    """One total: its name, the number after the run, the number before it, and the share kept."""

    name: str
    after: str
    before: str = ""
    share: str = ""


def total_cards(stages: Stages, names: Sequence[str] = ()) -> list[TotalCard]:
    """Return the totals that are known. `names` are what the first and last records are called."""
    totals = totals_of(stages)
    read, written = totals.read, totals.written
    if not read.records:
        return []
    cards = [_records_card(steps(stages), *(names or ("record", "record")))]
    if read.playing_ms or written.playing_ms:
        before, after = read.playing_ms, written.playing_ms
        cards.append(_card("duration", before, after, lambda ms: duration(ms / 1000)))
    if read.words or written.words:
        cards.append(_card("words, about", read.words, written.words, estimate))
    if written.num_bytes:
        cards.append(_card("size of files", read.num_bytes, written.num_bytes, size))
    if written.files:
        cards.append(_card("files", read.files, written.files, count, has_share=False))
    return cards


def _records_card(found: Sequence[FunnelStep], first: str, last: str) -> TotalCard:
    """Return the number of records left: of those read, or of those that a stage made of them."""
    end = found[-1]
    made_of = next((step.made_of for step in reversed(found) if step.made_of), 0)
    before = f"{count(end.of)} made of {counted(made_of, first)}" if made_of else count(end.of)
    return TotalCard(f"{last}s", count(end.items), before, share(end.items, end.of))


def _card(
    name: str,
    before: int,
    after: int,
    text: Callable[[float], str],
    *,
    has_share: bool = True,
) -> TotalCard:
    if not before:
        return TotalCard(name, text(after))
    kept = share(after, before) if has_share and after <= before else ""
    return TotalCard(name, text(after), text(before), kept)


def overview_facts(record: RunRecord) -> Iterator[tuple[str, str]]:
    """Yield when and how the run ran, its input and output, and what it cost."""
    facts = record.facts
    if started := facts.get("started"):
        yield "started", utc(started)
    yield from _labelled("command", [shown_command(facts.get("command") or ())])
    yield from _labelled("input", inputs_of(facts.get("plan", [])))
    folders = [f"{folder} ({counted(n, 'file')})" for folder, n in record.folders.items()]
    yield from _labelled("output", folders)
    dropped = [f"{folder} ({counted(n, 'file')})" for folder, n in record.dropped_folders.items()]
    yield from _labelled("dropped", dropped)
    yield from _labelled("cost", [", ".join(costs(record))])


def _labelled(label: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    shown = [text for text in texts if text]
    for place, text in enumerate(shown[:_MOST_PLACES]):
        yield label if not place else "", text
    if len(shown) > _MOST_PLACES:
        yield "", f"and {count(len(shown) - _MOST_PLACES)} more"


def inputs_of(plan: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the paths and URLs that the first stage was given."""
    options = plan[0].get("options", {}) if plan else {}
    found: list[str] = []
    for name in _INPUT_OPTIONS:
        value = options.get(name)
        given = value if isinstance(value, list) else [value]
        found += [one for one in given if isinstance(one, str) and one]
    return found


def costs(record: RunRecord) -> Iterator[str]:
    """Yield the time the run took, and the CPU and GPU time that its stages used."""
    result = record.result
    yield f"{duration(result.seconds)} wall time"
    at_least = "at least " * _is_partly_unknown(record)
    if cpu_s := sum(usage.cpu_s for usage in result.usages.values()):
        yield f"{at_least}{_hours(cpu_s)} CPU time"
    if gpu_s := _gpu_seconds(result.usages, record.facts.get("needs") or {}):
        yield f"{at_least}{_hours(gpu_s)} GPU time"
    peaks = [usage.used_bytes for usage in result.nodes.values()]
    if peaks:
        nodes = "" if len(peaks) == 1 else f" on the fullest of {len(peaks)} nodes"
        yield f"at most {size(max(peaks))} memory{nodes}"


def _is_partly_unknown(record: RunRecord) -> bool:
    """Return whether an attempt was killed, which cannot record what it used."""
    counted_s = sum(counts.seconds for counts in record.result.stages.values())
    return counted_s > 1.05 * sum(usage.seconds for usage in record.result.usages.values()) + 0.1


def _gpu_seconds(usages: Mapping[str, Usage], needs: Mapping[str, Mapping[str, float]]) -> float:
    """Return the time that GPUs were reserved: workers keep them while they wait."""
    total = 0.0
    for name, usage in usages.items():
        wanted = needs.get(name) or {}
        gpus = wanted.get("gpus") or float(bool(wanted.get("gpu_memory_gb")))
        total += gpus * (usage.seconds + usage.waited_s + usage.held_s + usage.setup_s)
    return total


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 360 else duration(seconds)


def utc(seconds: Any) -> str:
    """Return a time for people, or "" if there is none."""
    if not isinstance(seconds, int | float):
        return ""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
