"""How many times as much a peer spends is told so that one sees whether a target is met."""

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize(
    ("least", "told", "is_met"),
    [
        (1.15, "1.14x (11.40 against 10.00 CPU-s)", False),
        (1.1, "1.14x (", True),
        (8, "1.1x (", False),
    ],
)
def test_a_ratio_near_its_target_is_told_to_a_hundredth(
    least: float, told: str, is_met: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from measuring.spending import faster

    figure = faster("cutting", least, {"ours": 10.0, "ffmpeg": 11.4}, {}, peer="ffmpeg")
    assert figure.value.startswith(told)
    assert figure.met is is_met
