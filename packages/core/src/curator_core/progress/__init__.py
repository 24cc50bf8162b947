"""Progress of a running run, for its terminal."""

from curator_core.progress.attending import Attendance, Manner, attach, manner

__all__ = ["Attendance", "Manner", "attach", "manner"]
