"""Normalizing untrusted texts takes linear time, see `costkit`."""

from costkit import check_cost
from curator_dedup.hashing import normalized


def test_time_of_normalization_is_linear() -> None:
    check_cost(lambda text: normalized([text]))
