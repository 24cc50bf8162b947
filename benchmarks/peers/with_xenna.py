"""The work on cosmos-xenna, through its public pipeline interface: WORK SETTINGS BEGUN."""

import os

import ray
from cosmos_xenna.pipelines import v1
from telling import Account
from works import Payload, Step


class Doing(v1.Stage[Payload, Payload]):
    def __init__(self, step: Step, cpus: float, batch: int) -> None:
        self._step = step
        self._cpus = cpus
        self._batch = batch

    @property
    def stage_batch_size(self) -> int:
        return self._batch

    @property
    def required_resources(self) -> v1.Resources:
        return v1.Resources(cpus=self._cpus, gpus=0.0)

    def process_data(self, in_data: list[Payload]) -> list[Payload]:
        return [self._step(task) for task in in_data]


def start_cluster() -> None:
    """As Xenna itself starts it; then it joins. Done here to know when the cluster is up.

    Without the address Xenna would refuse to choose where another Ray runs on this machine.
    """
    os.environ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"] = "1"
    os.environ["RAY_MAX_LIMIT_FROM_API_SERVER"] = "40000"
    os.environ["RAY_MAX_LIMIT_FROM_DATA_SOURCE"] = "40000"
    started = ray.init(address="local", include_dashboard=True)
    os.environ["RAY_ADDRESS"] = started.address_info["gcs_address"]


def main() -> None:
    account = Account()
    work, settings = account.work, account.settings
    streaming = v1.StreamingSpecificSpec()
    if "autoscale_interval_s" in settings:
        streaming.autoscale_interval_s = settings["autoscale_interval_s"]
    batch = settings.get("batch", 1)
    stages = [v1.StageSpec(Doing(step, work.cpus, batch)) for step in work.steps]
    config = v1.PipelineConfig(
        cpu_allocation_percentage=1.0,
        return_last_stage_outputs=True,
        mode_specific=streaming,
    )
    start_cluster()
    account.note("cluster_up")
    outputs = v1.run_pipeline(v1.PipelineSpec(list(work.inputs()), stages, config))
    account.take(outputs or [])
    account.tell()


if __name__ == "__main__":
    main()
