"""Preparing a node: `setup_on_node` exactly once there, whichever worker comes first."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from curator_core.model.stages import ProcessingStage
from curator_core.plan.plan import PlannedStage


def prepares(planned: PlannedStage) -> bool:
    return type(planned.stage).setup_on_node is not ProcessingStage.setup_on_node


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
