"""Sourcing: when more sources are asked for, and how many."""

from curator_streaming.scheduling.actions import AskForSources
from curator_streaming.scheduling.floors import Floor

_AHEAD_S = 0.6
"""How much work waits for the first step, so that there is always a choice."""

_MOST = 20_000


class Sourcing:
    """Lets sources in while there is room for them, and for what becomes of them."""

    def __init__(self, floor: Floor) -> None:
        self.floor = floor
        self.has_ended = False
        self.asked = 0

    def came(self, tasks: int) -> None:
        self.asked = max(0, self.asked - tasks)

    def ask(self) -> None:
        floor = self.floor
        if self.has_ended or not floor.nodes:
            return
        coming = floor.first.queue.tasks + self.asked
        wanted = self._wanted()
        if coming * 2 > wanted:
            return
        more = min(wanted - coming, self._room())
        if more <= 0 and not floor.active and not self.asked and not floor.boundaries[-1]:
            more = 1  # or nothing would ever move again
        if more > 0:
            self.asked += more
            floor.out.append(AskForSources(more))

    def _wanted(self) -> int:
        first = self.floor.first
        crew = first.crew
        workers = max(crew.staying, self._shared_to_be() if crew is self.floor.shared else 1, 1)
        each = 2 * crew.slots * first.spec.batch_size
        if first.cost is not None:
            each = max(each, int(min(_AHEAD_S / max(first.cost, 1e-9), _MOST)))
        return min(each * workers, max(_MOST, 4 * workers))

    def _shared_to_be(self) -> int:
        """So many there may be: only who knows how much is to do can tell whether it pays."""
        return max(self.floor.slots, self.floor.cores)

    def _room(self) -> int:
        floor = self.floor
        if floor.barriers.are_there:
            return _MOST
        room = min(0.5 * floor.settings.max_queued_bytes - floor.used, floor.boundary_limits[0])
        if room <= 0:
            return 0
        waiting = floor.first.queue.tasks
        size = floor.boundaries[0] / waiting if waiting else 0.0
        room -= self.asked * size
        return int(min(room / size, _MOST)) if size else _MOST
