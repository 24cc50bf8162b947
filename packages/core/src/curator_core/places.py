"""Where work happens: what a stage is told about its node and its worker."""

from dataclasses import dataclass

from curator_core.resources import Resources


@dataclass(frozen=True)
class NodeInfo:
    """One machine that runs a stage."""

    node_id: str = "local"


@dataclass(frozen=True)
class WorkerInfo:
    """One worker, and what it was granted.

    `run_token` marks what belongs to this run among files that are not yet published.
    """

    worker_id: str = "0"
    node: NodeInfo = NodeInfo()
    granted: Resources = Resources()
    run_token: str = "adhoc"
    gpu_ids: tuple[str, ...] = ()

    @property
    def device(self) -> str:
        """`cuda` where a GPU was granted (visible devices count from 0), else `cpu`."""
        return "cuda:0" if self.gpu_ids else "cpu"
