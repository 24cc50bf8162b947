"""The result of a preview: printed, shown in a notebook, or written as JSON."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from curator_core.model.formatting import counted
from curator_core.model.optional_dependencies import import_if_installed
from curator_core.preview.lines import Line, PreviewLayout
from curator_core.preview.records import Record, RecordPreview, StagePreview

_MOST_KEPT = 3


@dataclass(frozen=True, repr=False)
class Preview:
    """A sample, the stages that it passed through, and what is left of it.

    `kept` is the number of records that a run would pass to its writers; `rest` holds their
    columns or facts. Print it, or show it in a notebook.
    """

    name: str
    sources: list[str]
    records: int
    stages: list[StagePreview]
    left_out: list[str]
    kept: int
    rest: list[Record]
    examples: list[RecordPreview] = field(default_factory=list)
    """Each record of the sample, if the stages keep records apart."""

    def __str__(self) -> str:
        return "\n".join("".join(text for text, _ in line) for line in self.lines())

    def __repr__(self) -> str:
        return str(self)

    def lines(
        self, width: int = 80, *, colored: bool = False, brief: bool = False
    ) -> Iterator[Line]:
        """Yield lines of texts with styles: all stages, and a few records from end to end.

        If brief: only numbers and reasons, and one record.
        """
        layout = PreviewLayout(width, colored)
        files = f" from {counted(len(self.sources), 'file')}" if self.sources else ""
        yield [(self.name, "bold"), (f": {counted(self.records, 'record')}{files}", "bold")]
        for stage in self.stages:
            if brief:
                yield from layout.brief_stage(stage)
            else:
                yield []
                yield from layout.stage(stage)
        yield []
        yield from layout.wrap([(self.verdict(), "bold")])
        yield from self._kept(layout, 1 if brief else _MOST_KEPT)

    def verdict(self) -> str:
        """Return how many records would be kept."""
        skipped = f"; {', '.join(self.left_out)} skipped, nothing written" if self.left_out else ""
        return f"{counted(self.kept, 'record')} would be kept{skipped}"

    def kept_examples(self) -> list[RecordPreview]:
        """Return the kept records, those that were changed first."""
        kept = [example for example in self.examples if example.after]
        return sorted(kept, key=lambda example: example.after == [example.before])

    def _kept(self, layout: PreviewLayout, most: int) -> Iterator[Line]:
        kept = self.kept_examples()
        for example in kept[:most]:
            yield []
            yield from layout.example(example)
        if not kept:
            for record in self.rest[:most]:
                yield []
                yield from layout.record(record, (), indent=2)
        if len(kept) > most:
            yield []
            yield [(f"  … {counted(len(kept) - most, 'more record')}", "dim")]

    def _repr_html_(self) -> str | None:
        page = import_if_installed("curator_cli.preview_page")
        return None if page is None else str(page.preview_html(self))

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON-compatible data, without pictures."""
        facts = asdict(self)
        for stage, found in zip(facts["stages"], self.stages, strict=True):
            stage["counts"] = found.counts.to_json()
            for record in stage["quarantined"]:
                del record["payload"], record["subtask"]
            for drop in stage["drops"]:
                del drop["thumbnail"]
        for example in facts["examples"]:
            del example["thumbnail"]
        return facts
