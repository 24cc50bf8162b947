"""Progress: how far a run is, for whoever sits before it."""

from curator_core.progress.attending import Attendance, Manner, attach, manner

__all__ = ["Attendance", "Manner", "attach", "manner"]
