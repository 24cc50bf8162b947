"""Verification: results and cost of comparing documents word for word."""

from dataclasses import asdict, dataclass
from typing import Any

from curator_core.reporting.figures import count, share


@dataclass(frozen=True)
class Verification:
    """Figures of one run."""

    threshold: float
    compared_pairs: int
    rejected_pairs: int
    kept_as_different: int
    """Documents that are kept only because of verification."""

    seconds: float
    """Time of the pipelines that only verification needs, and of the decisions."""

    all_seconds: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def render(self) -> str:
        rejected = f"{count(self.rejected_pairs)} of {count(self.compared_pairs)} pairs"
        percent = share(self.rejected_pairs, self.compared_pairs)
        return (
            f"<p>Documents that share a band were compared word for word. {rejected}"
            f"{f' ({percent})' if percent else ''} have a similarity below {self.threshold:g} and "
            f"were rejected, so {count(self.kept_as_different)} documents stay that would have "
            f"been duplicates without verification. It took {self.seconds:.1f} of "
            f"{self.all_seconds:.1f} s.</p>"
        )
