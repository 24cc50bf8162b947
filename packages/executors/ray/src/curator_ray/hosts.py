"""Hosts: workers of a run as the driver holds them."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from curator_core import Plan, Resources
from curator_core.errors import PipelineError
from curator_core.model.crash_attribution import Blame

from curator_ray.actors import Assignment, Span, StageActor, Step
from curator_ray.answers import Hello
from curator_ray.deaths import Death, death_from
from curator_ray.demands import ray_options
from curator_ray.environments import wrong_environments
from curator_ray.errands import break_off, last_words, sweep
from curator_ray.facts import NodeFacts, look
from curator_ray.leftovers import PREFIX, Claim, remove_leftovers
from curator_ray.posts import Post
from curator_ray.travelling import Baggage, search_path

if TYPE_CHECKING:
    from ray import ObjectRef, ObjectRefGenerator


@dataclass(frozen=True)
class Call:
    """A call under way: the answer is small and read by the driver, the parcel is handed on."""

    answer: "ObjectRef[Any]"
    parcel: "ObjectRef[Any]"


class Host:
    """One worker: an actor, and what is known about it."""

    def __init__(self, worker_id: str, actor: Any, folder: str) -> None:
        self.worker_id = worker_id
        self.greeting: ObjectRef[Hello] = actor.hello.remote()
        """Resolves when the worker is up."""
        self.node_id = ""
        """Where it is, once that is known: given at the start, or told by its greeting."""
        self._actor = actor
        self._folder = folder

    @property
    def post(self) -> Post:
        return Post(self._folder, self.node_id or self._found_node_id(), self.worker_id)

    def prepare(self, step: Step) -> "ObjectRef[Any]":
        """Set stages up ahead of their first call; resolves to an `Answer`."""
        ref: ObjectRef[Any] = self._actor.prepare.remote(step)
        return ref

    def run(
        self,
        step: Step,
        blame: Blame | None,
        spans: Sequence[Span],
        parcels: "Sequence[ObjectRef[Any]]",
    ) -> Call:
        """Push tasks through a step. `spans` say which tasks of each parcel."""
        answer, parcel = self._actor.run.remote(step, blame, spans, *parcels)
        return Call(answer, parcel)

    def flow(
        self,
        step: Step,
        blame: Blame | None,
        spans: Sequence[Span],
        parcels: "Sequence[ObjectRef[Any]]",
    ) -> "ObjectRefGenerator":
        """The same for stages that give much: references to answers and parcels, in turn."""
        flowing: ObjectRefGenerator = self._actor.flow.remote(step, blame, spans, *parcels)
        return flowing

    def drop(self, stage_index: int) -> "ObjectRef[Any]":
        ref: ObjectRef[Any] = self._actor.drop.remote(stage_index)
        return ref

    def look(self) -> "ObjectRef[Hello]":
        """A sign of life, after the calls given before."""
        ref: ObjectRef[Hello] = self._actor.hello.remote()
        return ref

    def end(self) -> "ObjectRef[Any]":
        """Tear down, after the calls given before; resolves to an `Answer`. Then `kill`."""
        ref: ObjectRef[Any] = self._actor.end.remote()
        return ref

    def break_off(self) -> None:
        """Stop the call at hand before its next entry into a stage."""
        break_off(self.post)

    def kill(self) -> None:
        import ray

        ray.kill(self._actor)

    def death(self, error: Exception) -> Death:
        """Why it is gone, after a call of it raised `error`."""
        post = self.post
        is_alive = not post.node_id or look().node(post.node_id) is not None
        words = last_words(post) if post.node_id and is_alive else None
        return death_from(words, error, node_is_alive=is_alive)

    def _found_node_id(self) -> str:
        """Where it is, if its post is on this machine and it died before it could greet."""
        found = Path(self._folder).glob(f"*/{self.worker_id}.board")
        return next((board.parent.name for board in found), "")


class Hosts:
    """Starts the workers of one run, and cleans up behind them."""

    def __init__(
        self, plan: Plan, run_token: str, *, folder: str | None = None, far: bool = False
    ) -> None:
        """`folder` is a private cluster's own; `far`: workers may be on other machines."""
        import ray

        if problems := list(wrong_environments(plan)):
            raise PipelineError(problems)
        self.baggage = Baggage(far=far)
        parent = folder or tempfile.gettempdir()
        self.folder = str(Path(parent, f"{PREFIX}{token_hex(8)}"))
        remove_leftovers(parent)
        self._claim = Claim(self.folder)
        self._run_token = run_token
        self._search_path = search_path()
        self._kind = ray.remote(StageActor)
        self._plan_ref = ray.put(self.baggage.pack(plan))
        self._nodes: set[str] = set()

    def start(
        self,
        worker_id: str,
        resources: Resources,
        *,
        node: NodeFacts | None = None,
        runtime_env: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Host:
        """Start a worker with these resources, on `node` or where there is room for it.

        `options` are Ray's own, and win.
        """
        wanted = {
            **ray_options(resources, node),
            "max_restarts": 0,
            "max_task_retries": 0,
            **({"runtime_env": dict(runtime_env)} if runtime_env else {}),
            **(options or {}),
        }
        assignment = Assignment(
            worker_id, self.folder, self._run_token, resources, self._search_path
        )
        actor = self._kind.options(**wanted).remote(assignment, self._plan_ref)
        host = Host(worker_id, actor, self.folder)
        if node is not None:
            self.locate(host, node.node_id)
        return host

    def locate(self, host: Host, node_id: str) -> None:
        """Note where a worker is: to be called with what its greeting says."""
        host.node_id = node_id
        self._nodes.add(node_id)

    def close(self) -> None:
        """Leave nothing of the run on its nodes. Workers must have ended."""
        self.baggage.unpack()
        sweep(self.folder, self._nodes)
        self._claim.release()
