"""Places: where a run of this executor takes place."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from curator_core import Plan, Resources
from curator_ray.actors import Assignment
from curator_ray.connecting import Connection
from curator_ray.errands import sweep
from curator_ray.leftovers import PREFIX, Claim, remove_leftovers
from curator_ray.surveying import Survey
from curator_ray.travelling import Baggage, search_path

from curator_ray_data.casualties import Camp


@dataclass(frozen=True)
class Place:
    """A cluster, a folder for the posts of workers, and the plan as bytes."""

    survey: Survey
    camp: Camp
    baggage: Baggage
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
    baggage = Baggage(far=survey.is_far)
    parent = connection.folder or tempfile.gettempdir()
    remove_leftovers(parent)
    folder = str(Path(parent, f"{PREFIX}{token_hex(8)}"))
    claim = Claim(folder)
    camp = Camp(folder)
    camp.spread(survey)
    try:
        assignment = Assignment("", folder, run_token, Resources(), search_path())
        yield Place(survey, camp, baggage, baggage.pack(plan), assignment)
    finally:
        baggage.unpack()
        sweep(folder, camp.far_nodes)
        claim.release()
