"""Preparing a node: `setup_on_node` exactly once there, whichever worker comes first."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from curator_core import PlannedStage, ProcessingStage


def prepares(planned: PlannedStage) -> bool:
    plain = ProcessingStage.setup_on_node
    return any(type(part.stage).setup_on_node is not plain for part in planned.parts)


def prepare_once(node_folder: Path, planned: PlannedStage, prepare: Callable[[], None]) -> None:
    """Run `prepare` for this stage unless it was done on this node; others wait meanwhile.

    A lock of the system does it: whoever dies in the middle lets it go, and the next one tries.
    """
    handle = os.open(node_folder / f"stage-{planned.index}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if os.read(handle, 1):
            return
        prepare()
        os.write(handle, b"1")
    finally:
        os.close(handle)
