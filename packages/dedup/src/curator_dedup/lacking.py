"""Missing fields: count and report documents without the compared field, which count as empty."""

from collections import Counter
from collections.abc import Mapping, Sequence

from curator_core.reporting.figures import count, counted

_LACKING = "lacking: "


class Lacking(Counter[str]):
    """Number of documents without the field, by file; convertible to a folder's counts and back."""

    def to_counts(self) -> dict[str, int]:
        return {f"{_LACKING}{path}": number for path, number in self.items() if number}

    @classmethod
    def of_counts(cls, counts: Mapping[str, int]) -> "Lacking":
        found = {n.removeprefix(_LACKING): k for n, k in counts.items() if n.startswith(_LACKING)}
        return cls(found)

    def told(self, field: str, documents: int, fields: Sequence[str]) -> str:
        """Return a sentence; `fields` are those of the file with the most such documents."""
        [(worst, number)] = self.most_common(1)
        others = f" and {counted(len(self) - 1, 'more file')}" if len(self) > 1 else ""
        instead = f" (its fields: {', '.join(fields)})" if fields else ""
        have, are = ("has", "counts") if self.total() == 1 else ("have", "count")
        return (
            f"{count(self.total())} of {counted(documents, 'document')} {have} no field {field!r} "
            f"and {are} as empty: {count(number)} in {worst}{instead}{others}"
        )
