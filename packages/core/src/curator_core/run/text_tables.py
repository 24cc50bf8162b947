"""Tables of a run as plain text, for `print` in Python."""

from collections.abc import Iterable, Mapping, Sequence

from curator_core.model.formatting import count, duration, estimate, share, shortened, size
from curator_core.model.records import StageCounts
from curator_core.run.totals import Amount, RunTotals

_MOST_STAGES = 40
_GAP = "  "


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: Sequence[str]) -> str:
    """Return an aligned table. Columns named in `texts` are aligned left, numbers right.

    Columns that are empty in all rows are left out.
    """
    every = [head, *rows]
    shown = [place for place in range(len(head)) if any(row[place] for row in every[1:])]
    widths = {place: max(len(row[place]) for row in every) for place in shown}
    lines = (
        _GAP.join(
            row[place].ljust(widths[place]) if head[place] in texts
            else row[place].rjust(widths[place])
            for place in shown
        )
        for row in every
    )  # fmt: skip
    return "\n".join(line.rstrip() for line in lines)


def totals_table(totals: RunTotals) -> str:
    """Return the totals read and written, and the share of records kept."""
    read, written = totals.read, totals.written
    rows = [("read", *_amount(read)), ("written", *_amount(written))]
    if read.records >= written.records:
        rows.append(("kept", share(written.records, read.records), "", "", "", ""))
    return text_table(("", "records", "words, about", "duration", "files", "bytes"), rows, [""])


def _amount(amount: Amount) -> tuple[str, str, str, str, str]:
    return (
        count(amount.records),
        estimate(amount.words) if amount.words else "",
        duration(amount.playing_ms / 1000) if amount.playing_ms else "",
        count(amount.files) if amount.files else "",
        size(amount.num_bytes) if amount.num_bytes else "",
    )


def stages_table(stages: Mapping[str, StageCounts], width: int) -> str:
    """Return what each stage took, returned and kept back, and why, in lines of this width."""
    head = ("stage", "files", "in", "out", "dropped", "failed", "bytes", "why")
    rows = [_stage_row(name, counts) for name, counts in list(stages.items())[:_MOST_STAGES]]
    table = text_table(head, rows, ["stage", "why"])
    lines = [line if len(line) <= width else f"{line[: width - 1]}…" for line in table.split("\n")]
    if len(stages) > _MOST_STAGES:
        lines.append(f"… {count(len(stages) - _MOST_STAGES)} more stages")
    return "\n".join(lines)


def _stage_row(name: str, counts: StageCounts) -> tuple[str, ...]:
    numbers = (
        counts.files,
        counts.records_in,
        counts.records_out,
        counts.items_dropped,
        counts.items_failed + counts.items_rejected,
    )
    commonest = sorted(counts.reasons.items(), key=lambda found: -found[1])
    why = ", ".join(reason if len(commonest) == 1 else f"{count(items)} {reason}"
                    for reason, items in commonest)  # fmt: skip
    shown = [count(number) if number else "" for number in numbers]
    return name, *shown, size(counts.bytes_out) if counts.bytes_out else "", shortened(why, 200)
