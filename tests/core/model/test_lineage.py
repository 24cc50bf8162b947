"""Credit is shared exactly, and ids are derived from the parents' ids."""

from fractions import Fraction

import pytest
from curator_core.model.ids import child_id, fingerprint, mixed_id
from curator_core.model.lineage import (
    Lineage,
    add_credits,
    equal_share,
    next_share,
    rest_share,
    whole_credit,
)
from hypothesis import given
from hypothesis import strategies as st

lineages = st.dictionaries(
    st.tuples(st.text("abc", min_size=1, max_size=2), st.integers(0, 2)),
    st.fractions(min_value=Fraction(1, 100), max_value=1, max_denominator=100),
    min_size=1,
    max_size=4,
)


class TestCredit:
    @given(lineages, st.integers(1, 50))
    def test_equal_shares_add_up(self, lineage: Lineage, parts: int) -> None:
        assert add_credits([equal_share(lineage, parts)] * parts) == lineage

    @given(lineages, st.integers(0, 50))
    def test_shares_of_an_unknown_number_add_up_with_the_rest(
        self, lineage: Lineage, given_out: int
    ) -> None:
        shares = [next_share(lineage, position) for position in range(given_out)]

        assert add_credits([*shares, rest_share(lineage, given_out)]) == lineage

    def test_shares_of_an_unknown_number_stay_small_numbers(self) -> None:
        share = next_share(whole_credit("a", 1), 9_999)

        assert share == {("a", 1): Fraction(1, 10_000 * 10_001)}

    def test_sharing_never_changes_what_others_hold(self) -> None:
        lineage = whole_credit("a", 1)
        equal_share(lineage, 3)
        add_credits([lineage, lineage])

        assert lineage == {("a", 1): 1}

    def test_attempts_are_kept_apart(self) -> None:
        assert add_credits([whole_credit("a", 1), whole_credit("a", 2), whole_credit("b", 1)]) == {
            ("a", 1): 1,
            ("a", 2): 1,
            ("b", 1): 1,
        }


class TestIds:
    @given(st.lists(st.text(max_size=4), max_size=4), st.lists(st.text(max_size=4), max_size=4))
    def test_borders_between_parts_count(self, one: list[str], other: list[str]) -> None:
        assert (fingerprint(*one) == fingerprint(*other)) == (one == other)

    def test_are_128_bits_and_the_same_in_every_process(self) -> None:
        assert fingerprint("a", b"b") == fingerprint("a", "b")
        assert fingerprint("data/part-1.jsonl") == "c620c53808b2b690008d3777f7ddc443"

    def test_take_any_file_name(self) -> None:
        assert len(fingerprint("caf\udce9.jsonl")) == 32

    @given(st.lists(st.text("ab.0", min_size=1, max_size=3), min_size=2, max_size=5))
    def test_a_mix_does_not_depend_on_the_order_of_arrival(self, parents: list[str]) -> None:
        assert mixed_id(parents) == mixed_id(parents[::-1])

    def test_a_mix_of_one_is_that_one(self) -> None:
        assert mixed_id(["a.0"]) == "a.0"

    @pytest.mark.parametrize("position", [0, 7, 12])
    def test_a_child_names_its_parent_and_place(self, position: int) -> None:
        assert child_id("a", position) == f"a.{position}"
