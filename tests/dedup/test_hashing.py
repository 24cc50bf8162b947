"""Costs of bringing untrusted texts to one form, see `costkit`."""

from costkit import check_cost
from curator_dedup.hashing import normalized


def test_normalization_takes_time_in_proportion_to_the_text() -> None:
    check_cost(lambda text: normalized([text]))
