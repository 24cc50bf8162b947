"""Executors on Ray: all that those do alike who differ in how they drive a run."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, cast

from curator_core import AnyTask, Executor, Plan
from curator_core.errors import PipelineError, ResourceError

from curator_ray.listing import only_listed

if TYPE_CHECKING:
    from curator_core import Run
    from curator_core.plan.executor import RemoteRun

    from curator_ray.connecting import Connection
    from curator_ray.facts import ClusterFacts
    from curator_ray.surveying import Survey


class RayOptions(Protocol):
    """What the options of each of them have, which are dataclasses."""

    @property
    def address(self) -> str | None:
        """The cluster that is joined, where Ray is not connected to one already."""

    @property
    def object_store_gb(self) -> float | None:
        """How large the object store of a private cluster is."""


Options = TypeVar("Options", bound=RayOptions)


def given(
    options: Options | None, config: Mapping[str, Any] | None, kind: Any, executor: str
) -> Options:
    """Options as they are, or made of a config."""
    if options is not None and config is not None:
        raise PipelineError(f"give the {executor} executor options or a config, not both")
    return options or cast(Options, kind.from_config(config or {}))


class RayExecutor(Executor, Generic[Options]):
    """Looks at the cluster before anything runs, and has the run driven from where that works.

    The cluster is the one that Ray is connected to, else `address`, else RAY_ADDRESS, else a
    private one on this machine that ends with the run.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"isolation", "timeouts", "runtime_env"})
    title: ClassVar[str]
    """How messages call it."""

    needs: ClassVar[str] = "ray"
    """What pip is to install."""

    soon: ClassVar[tuple[str, ...]] = ()
    """Modules that drive a run, for them to be imported while Ray starts."""

    moves_tables: ClassVar[bool] = False
    """Whether its workers need tables for whatever stages they run."""

    options: Options

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.options})"

    @abstractmethod
    def outputs(
        self, plan: Plan, run: "RemoteRun", connection: "Connection", survey: "Survey"
    ) -> Iterator[AnyTask]:
        """Drive a run that has work for workers, on a cluster that has what it asks for."""

    def wrong_hints(self, plan: Plan) -> Iterable[str]:
        """What stages say to this executor that it does not understand."""
        return ()

    def unmet_demands(self, plan: Plan, cluster: "ClusterFacts") -> Iterable[str]:
        """What the plan asks for and the cluster has not."""
        from curator_ray.demands import unmet_demands

        return unmet_demands(plan, cluster)

    def connected(self, plan: Plan) -> "AbstractContextManager[Connection]":
        """Be connected to the cluster that the options mean; a private one suits the plan."""
        from curator_ray.connecting import connected
        from curator_ray.starting import PrivateCluster
        from curator_ray.stems import worth_importing

        private = PrivateCluster(
            object_store_gb=self.options.object_store_gb,
            imports=worth_importing(plan, moves_tables=self.moves_tables),
        )
        return connected(self.options.address, private, soon=self.soon)

    def check(self, plan: Plan) -> Iterable[str]:
        """Wrong hints and environments; and what no node has, where Ray is connected already."""
        if problems := list(self.wrong_hints(plan)):
            raise PipelineError(problems)
        from curator_ray.environments import wrong_environments
        from curator_ray.postponing import is_initialized, is_installed

        if not is_installed():
            raise PipelineError(
                f"the {self.title} executor needs Ray, which is not installed here: "
                f"pip install {self.needs}, or choose another (CURATOR_EXECUTOR=local)"
            )
        if problems := list(wrong_environments(plan)):
            raise PipelineError(problems)
        if is_initialized():
            from curator_ray.facts import look

            yield from self.unmet_demands(plan, look())

    @contextmanager
    def connect(self, plan: Plan) -> Iterator[None]:
        from curator_ray.travelling import refuse_what_cannot_travel

        with self.connected(plan) as connection:
            survey = self.surveyed(plan, connection)
            refuse_what_cannot_travel(plan, far=survey.is_far)
            yield

    def execute(self, plan: Plan, run: "Run") -> Iterator[AnyTask]:
        if not run.worker_stages or not run.has_work:
            yield from only_listed(run)
        else:
            yield from self.drive(plan, run)

    def drive(self, plan: Plan, run: "RemoteRun") -> Iterator[AnyTask]:
        """Execute what has work for workers: from here, or by a deputy on the cluster."""
        with self.connected(plan) as connection:
            if connection.is_client:
                from curator_ray.deputizing import driven_there

                there = type(self)(replace(cast(Any, self.options), address=None))  # type: ignore[call-arg]
                yield from driven_there(connection, there.drive, plan, run)
                return
            run.events.emit("connected", how=connection.kind, address=connection.address)
            yield from self.outputs(plan, run, connection, self.surveyed(plan, connection))

    def surveyed(self, plan: Plan, connection: "Connection") -> "Survey":
        """The nodes of the cluster, among which there are some for each stage."""
        from curator_ray.surveying import Survey

        survey = Survey(connection)
        if problems := list(self.unmet_demands(plan, survey.facts)):
            raise ResourceError("\n".join(problems))
        return survey
