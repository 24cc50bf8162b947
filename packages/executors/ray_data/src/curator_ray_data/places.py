"""Places: where a run of this executor takes place."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from curator_core import Plan, Resources
from curator_ray.cluster.connection import Connection
from curator_ray.cluster.survey import Survey
from curator_ray.temp_folders import RUN_FOLDER_PREFIX, FolderLock, remove_abandoned_folders
from curator_ray.transfer.modules import PlanPacker, search_path
from curator_ray.worker.messages import Assignment
from curator_ray.worker.node_tasks import remove_folder_on_nodes

from curator_ray_data.casualties import Camp


@dataclass(frozen=True)
class Place:
    """A cluster, a folder for the posts of workers, and the plan as bytes."""

    survey: Survey
    camp: Camp
    packer: PlanPacker
    packed_plan: bytes
    assignment: Assignment

    @property
    def store_bytes(self) -> float:
        return sum(node.object_store_gb for node in self.survey.facts.nodes) * 1e9


@contextmanager
def place_for(
    plan: Plan, run_token: str, connection: Connection, survey: Survey
) -> Iterator[Place]:
    """Pack the plan; leave nothing of the run on its nodes. Workers must have ended by then."""
    packer = PlanPacker(send_modules=survey.spans_machines)
    parent = connection.folder or tempfile.gettempdir()
    remove_abandoned_folders(parent)
    folder = str(Path(parent, f"{RUN_FOLDER_PREFIX}{token_hex(8)}"))
    claim = FolderLock(folder)
    camp = Camp(folder)
    camp.spread(survey)
    try:
        assignment = Assignment("", folder, run_token, Resources(), search_path())
        yield Place(survey, camp, packer, packer.pack(plan), assignment)
    finally:
        packer.close()
        remove_folder_on_nodes(folder, camp.far_nodes)
        claim.release()
