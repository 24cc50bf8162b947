"""The ledger: which sources are finished, told by the credit that came back."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from curator_core.lineage import WHOLE, Lineage, SourceKey
from curator_core.outcomes import AnyTask
from curator_core.reports import Part
from curator_core.tasks import StagedFile

_NOTHING = Fraction(0)


@dataclass
class Group:
    """Sources that are published together, because some output was made of all of them."""

    credit: dict[str, Fraction] = field(default_factory=dict)
    files: list[StagedFile] = field(default_factory=list)
    outputs: list[AnyTask] = field(default_factory=list)
    account: Part = field(default_factory=Part)
    lost: bool = False

    @property
    def sources(self) -> list[str]:
        return list(self.credit)

    @property
    def is_complete(self) -> bool:
        return all(credit == WHOLE for credit in self.credit.values())

    def merge(self, other: "Group") -> None:
        self.credit.update(other.credit)
        self.files += other.files
        self.outputs += other.outputs
        self.lost = self.lost or other.lost
        self.account.add(other.account)


class Ledger:
    """Open sources and what has come back of them. Pure bookkeeping: no files, no clock."""

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        self._attempts: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def __contains__(self, source_id: str) -> bool:
        return source_id in self._groups

    def open(self, source_id: str) -> int:
        """Begin the next attempt at a source; the number of that attempt."""
        self._attempts[source_id] = self._attempts.get(source_id, 0) + 1
        self._groups[source_id] = Group({source_id: _NOTHING})
        return self._attempts[source_id]

    def attempt(self, source_id: str) -> int:
        return self._attempts[source_id]

    def is_current(self, key: SourceKey) -> bool:
        source_id, attempt = key
        return source_id in self._groups and self._attempts[source_id] == attempt

    def stale(self, lineage: Iterable[SourceKey]) -> set[str] | None:
        """None where every source of `lineage` is at its current attempt.

        Otherwise the sources that are current, and are mixed with something that is void: they
        have to be run again.
        """
        keys = list(lineage)
        if len(keys) == 1:  # as nearly always, and for every output and every part
            return None if self.is_current(keys[0]) else set()
        current = {key[0] for key in keys if self.is_current(key)}
        return None if len(current) == len(keys) else current

    def group_with(self, source_id: str) -> Group:
        return self._groups[source_id]

    def group_of(self, keys: Iterable[SourceKey]) -> Group:
        """The group of these sources, bound together from now on where they are several."""
        ids = [key[0] for key in keys]
        group = self._groups[ids[0]]
        for source_id in ids[1:]:
            other = self._groups[source_id]
            if other is not group:
                group.merge(other)
                self._groups.update(dict.fromkeys(other.credit, group))
        return group

    def credit(self, lineage: Lineage) -> None:
        """Take back credit; what belongs to a void attempt is not counted."""
        for key, share in lineage.items():
            if self.is_current(key):
                group = self._groups[key[0]]
                before = group.credit[key[0]]
                group.credit[key[0]] = share if before is _NOTHING else before + share
                if group.credit[key[0]] > WHOLE:
                    raise AssertionError(f"source {key[0]}: more credit came back than was given")

    def close(self, group: Group) -> None:
        for source_id in group.credit:
            del self._groups[source_id]
            del self._attempts[source_id]

    def reopen(self, source_id: str) -> list[str]:
        """Void all attempts at the source's group; the sources that have to be run again."""
        sources = self._groups[source_id].sources
        for member in sources:
            self.open(member)
        return sources
