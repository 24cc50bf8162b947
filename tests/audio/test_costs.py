"""Costs of what is done with untrusted transcripts and names, see `costkit`."""

from collections.abc import Callable

import pytest
from costkit import check_cost
from curator_audio.transcripts.hallucinations import Doubts
from curator_audio.transcripts.rates import Normalization
from curator_audio.writing.naming import name_of

FUNCTIONS: dict[str, Callable[[str], object]] = {
    "normalization": Normalization(),
    "doubts": lambda text: Doubts(0.3, 5, 50, 30.0, ["thank you"]).about(text, 10.0),
    "names": lambda text: name_of(text, 0.0, 1.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_time_in_proportion_to_the_text(name: str) -> None:
    check_cost(FUNCTIONS[name])
