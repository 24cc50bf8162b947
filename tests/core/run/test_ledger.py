"""Credit returns in any order, from current and from void attempts."""

from fractions import Fraction

import pytest
from curator_core.model.lineage import (
    Lineage,
    add_credits,
    equal_share,
    next_share,
    rest_share,
    whole_credit,
)
from curator_core.run.ledger import Group, Ledger
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule


class Interleavings(RuleBasedStateMachine):
    """Sources are split, mixed, returned and restarted; a model keeps the same account."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.pieces: list[Lineage] = []
        self.returned: dict[str, Fraction] = {}
        self.attempts: dict[str, int] = {}
        self.bound: dict[str, frozenset[str]] = {}

    @rule()
    def open(self) -> None:
        source = f"s{len(self.attempts)}"
        self._begin(source, self.ledger.open(source))

    @precondition(lambda self: self.pieces)
    @rule(data=st.data(), parts=st.integers(2, 4))
    def split(self, data: st.DataObject, parts: int) -> None:
        piece = self._take(data)
        self.pieces += [equal_share(piece, parts)] * parts

    @precondition(lambda self: self.pieces)
    @rule(data=st.data(), given=st.integers(1, 5))
    def split_not_knowing_in_how_many(self, data: st.DataObject, given: int) -> None:
        piece = self._take(data)
        self.pieces += [next_share(piece, position) for position in range(given)]
        self.pieces.append(rest_share(piece, given))

    @precondition(lambda self: len(self.pieces) > 1)
    @rule(data=st.data())
    def mix(self, data: st.DataObject) -> None:
        self.pieces.append(add_credits([self._take(data), self._take(data)]))

    @precondition(lambda self: self.pieces)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        piece = self._take(data)
        current = {source for source, attempt in piece if self.attempts[source] == attempt}
        tainted = self.ledger.stale(piece)
        if len(current) < len(piece):
            assert tainted == current
            return
        assert tainted is None
        self.ledger.group_of(piece)
        self.ledger.credit_all([piece])
        together = frozenset().union(*(self.bound[source] for source in current))
        self.bound |= dict.fromkeys(together, together)
        for (source, _), share in piece.items():
            self.returned[source] += share

    @precondition(lambda self: self.attempts)
    @rule(data=st.data())
    def restart(self, data: st.DataObject) -> None:
        source = data.draw(st.sampled_from(sorted(self.attempts)))
        members = self.bound[source]
        assert set(self.ledger.reopen(source)) == members
        for member in members:
            self._begin(member, self.attempts[member] + 1)

    @invariant()
    def every_source_is_complete_exactly_when_its_credit_is_whole(self) -> None:
        for source, attempt in self.attempts.items():
            group = self.ledger.group_of([(source, attempt)])
            assert set(group.sources) == self.bound[source]
            assert group.credit == {member: self.returned[member] for member in self.bound[source]}
            whole_ones = all(self.returned[member] == 1 for member in self.bound[source])
            assert group.is_complete == whole_ones
        assert len(self.ledger) == len(self.attempts)

    def _begin(self, source: str, attempt: int) -> None:
        self.attempts[source] = attempt
        self.returned[source] = Fraction(0)
        self.bound[source] = frozenset({source})
        self.pieces.append(whole_credit(source, attempt))

    def _take(self, data: st.DataObject) -> Lineage:
        return self.pieces.pop(data.draw(st.integers(0, len(self.pieces) - 1)))


Interleavings.TestCase.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None, derandomize=True
)
TestInterleavings = Interleavings.TestCase


class TestGroups:
    def test_merged_groups_keep_the_contents_of_each(self) -> None:
        ledger = Ledger()
        keys = [(name, ledger.open(name)) for name in ("a", "b")]
        ledger.group_of(keys[:1]).lost = True
        group = ledger.group_of(keys)
        assert group.lost
        assert group is ledger.group_of(keys[1:])
        assert group.sources == ["a", "b"]

    def test_a_closed_source_takes_no_more_credit(self) -> None:
        ledger = Ledger()
        ledger.open("a")
        ledger.credit(whole_credit("a", 1))
        ledger.close(ledger.group_of([("a", 1)]))
        ledger.credit(whole_credit("a", 1))
        assert len(ledger) == 0
        assert not ledger.is_current(("a", 1))

    def test_credit_that_comes_back_twice_is_noticed(self) -> None:
        ledger = Ledger()
        ledger.open("a")
        ledger.credit(whole_credit("a", 1))
        with pytest.raises(AssertionError, match="source a: more credit came back than was given"):
            ledger.credit(whole_credit("a", 1))

    def test_an_empty_group_is_complete(self) -> None:
        assert Group().is_complete
