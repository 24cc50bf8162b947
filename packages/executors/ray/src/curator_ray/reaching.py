"""Reaching a cluster before anything depends on it: it answers, and has what a plan asks for."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from curator_core.errors import ResourceError
from curator_core.plans import Plan

from curator_ray.connecting import Connection
from curator_ray.facts import ClusterFacts
from curator_ray.surveying import Survey
from curator_ray.travelling import Baggage


@contextmanager
def reached(
    connecting: AbstractContextManager[Connection],
    plan: Plan,
    lacking: Callable[[ClusterFacts], Iterable[str]],
) -> Iterator[None]:
    """Be connected, after an error where `lacking` says so or the plan cannot travel."""
    with connecting as connection:
        survey = Survey(connection)
        if problems := list(lacking(survey.facts)):
            raise ResourceError("\n".join(problems))
        baggage = Baggage(far=survey.is_far)
        try:
            baggage.pack(plan)
        finally:
            baggage.unpack()
        yield
