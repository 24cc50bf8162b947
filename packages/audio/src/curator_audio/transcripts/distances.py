"""Edit distance, computed with one table column per big integer (Myers, Hyyrö)."""

from collections.abc import Hashable, Sequence


def distance(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """Return the number of insertions, deletions and replacements between two sequences."""
    if not one or not other:
        return len(one) + len(other)
    places: dict[Hashable, int] = {}
    for place, item in enumerate(one):
        places[item] = places.get(item, 0) | 1 << place
    every, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    more, less, edits = every, 0, len(one)
    for item in other:
        equal = places.get(item, 0)
        across = (((equal & more) + more) ^ more) | equal
        up = less | (~(across | more) & every)
        down = more & across
        edits += bool(up & last) - bool(down & last)
        up, down = ((up << 1) | 1) & every, (down << 1) & every
        below = equal | less
        more, less = down | (~(below | up) & every), up & below
    return edits
