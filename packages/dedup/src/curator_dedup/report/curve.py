"""Curves: the probability that documents are compared, by similarity, for bands and rows."""

from dataclasses import dataclass

_STEPS = 100
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 560, 220, 40, 30


@dataclass(frozen=True)
class BandCurve:
    """The S-curve of `bands` bands of `rows` minhashes each."""

    bands: int
    rows: int

    def probability(self, similarity: float) -> float:
        """Return the probability that documents of this similarity share at least one band."""
        return float(1.0 - (1.0 - similarity**self.rows) ** self.bands)

    @property
    def threshold(self) -> float:
        """The similarity at which the curve is steepest, approximately."""
        return float((1.0 / self.bands) ** (1.0 / self.rows))

    def to_json(self) -> dict[str, object]:
        marks = [mark / 20 for mark in range(21)]
        return {
            "bands": self.bands,
            "rows": self.rows,
            "threshold": round(self.threshold, 4),
            "probabilities": {f"{mark:.2f}": round(self.probability(mark), 6) for mark in marks},
        }

    def svg(self) -> str:
        """Draw the curve with the threshold marked, without scripts."""
        points = " ".join(
            f"{_x(at / _STEPS):.1f},{_y(self.probability(at / _STEPS)):.1f}"
            for at in range(_STEPS + 1)
        )
        place = _x(self.threshold)
        label = f"threshold {self.threshold:.2f}"
        title = f"{self.bands} bands of {self.rows} minhashes"
        return (
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" class="curve" role="img"><title>{title}</title>'
            f"{_axes()}"
            f'<line class="mark" x1="{place:.1f}" y1="{_y(1)}" x2="{place:.1f}" y2="{_y(0)}"/>'
            f'<text x="{place - 6:.1f}" y="{_y(1) + 12}" text-anchor="end">{label}</text>'
            f'<polyline points="{points}"/></svg>'
        )


def _x(similarity: float) -> float:
    return _LEFT + similarity * (_WIDTH - _LEFT - 10)


def _y(probability: float) -> float:
    return 10 + (1 - probability) * (_HEIGHT - _BOTTOM - 10)


def _axes() -> str:
    ticks = [mark / 5 for mark in range(6)]
    below = "".join(
        f'<line x1="{_x(t)}" y1="{_y(0)}" x2="{_x(t)}" y2="{_y(1)}"/>'
        f'<text x="{_x(t)}" y="{_y(0) + 18}" text-anchor="middle">{t:g}</text>'
        for t in ticks
    )
    beside = "".join(
        f'<line x1="{_x(0)}" y1="{_y(t)}" x2="{_x(1)}" y2="{_y(t)}"/>'
        f'<text x="{_x(0) - 6}" y="{_y(t) + 4}" text-anchor="end">{t:g}</text>'
        for t in ticks
    )
    return below + beside
