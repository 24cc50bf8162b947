"""The time to process untrusted transcripts and names grows linearly, see `costkit`."""

from collections.abc import Callable

import pytest
from costkit import check_cost
from curator_audio.transcripts.error_rates import Normalization
from curator_audio.transcripts.hallucinations import HallucinationDetector
from curator_audio.writers.encoder import segment_name

FUNCTIONS: dict[str, Callable[[str], object]] = {
    "normalization": Normalization(),
    "doubts": lambda text: HallucinationDetector(0.3, 5, 50, 30.0, ["thank you"]).find_reason(
        text, 10.0
    ),
    "names": lambda text: segment_name(text, 0.0, 1.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_time_grows_linearly_with_the_text(name: str) -> None:
    check_cost(FUNCTIONS[name])
