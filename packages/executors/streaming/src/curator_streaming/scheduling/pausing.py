"""Pausing: calls that stream their outputs are held while too much waits behind them."""

from curator_streaming.scheduling.actions import Pause, Resume
from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.workers import Call

_STALLED_S = 1.0


class Pausing:
    """Holds a call only while others can work off what waits, or all would stand still."""

    def __init__(self, floor: Floor) -> None:
        self.floor = floor

    def look_at(self, call: Call) -> None:
        floor = self.floor
        crew = call.worker.crew
        held = sum(paused.worker.crew is crew for paused in floor.paused.values())
        if call.paused or crew.up - held <= 1 or not self._has_work_behind(call):
            return
        if not self._fits(call, 1.0):
            call.paused = True
            floor.paused[call.id] = call
            floor.out.append(Pause(call.id))

    def resume(self) -> None:
        floor = self.floor
        stalled = floor.now - floor.last_done > _STALLED_S and not floor.boundaries[floor.length]
        for call in list(floor.paused.values()):
            if stalled or self._fits(call, 0.9) or not self._has_work_behind(call):
                call.paused = False
                del floor.paused[call.id]
                floor.out.append(Resume(call.id))

    def _fits(self, call: Call, share: float) -> bool:
        floor = self.floor
        here, limit = (of[call.last + 1] for of in (floor.boundaries, floor.boundary_limits))
        return floor.used <= share * floor.limits[call.last] and here <= share * limit

    def _has_work_behind(self, call: Call) -> bool:
        floor = self.floor
        return bool(floor.active >> (call.last + 1) or floor.boundaries[floor.length])
