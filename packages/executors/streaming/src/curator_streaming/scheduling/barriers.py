"""Barriers: in batch mode a step begins when everything before it is done."""


class Barriers:
    """Which steps may not begin yet, as bits: all but the first that still has work."""

    def __init__(self, are_there: bool) -> None:
        self.are_there = are_there
        self.first = 0
        """The stage with which the step begins whose turn it is."""

        self.closed = ~1 if are_there else 0

    def move(self, active: int, has_ended: bool) -> bool:
        """Whether it is another step's turn; while sources still come it is the first one's."""
        if not self.are_there:
            return False
        lowest = active & -active if has_ended else 1
        if not lowest or self.closed == ~lowest:
            return False
        self.closed = ~lowest
        self.first = lowest.bit_length() - 1
        return True
