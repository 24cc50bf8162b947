"""The work on our Ray Data executor: WORK SETTINGS BEGUN."""

from contextlib import ExitStack

from curator_core import Pipeline, ProcessingStage, Resources, Task
from curator_ray.cluster.connection import connected
from curator_ray.cluster.private import PrivateCluster
from curator_ray_data import RayDataExecutor
from curator_ray_data.options import RayDataOptions
from spilling import spilled_bytes
from telling import Account
from works import Payload, Step


class Doing(ProcessingStage[Task[Payload], Task[Payload]]):
    def __init__(self, step: Step) -> None:
        self._step = step

    def process(self, task: Task[Payload]) -> Task[Payload]:
        return task.with_data(self._step(task.data))


class DoingApart(Doing):
    """Says that it may fan out, so that the next stage is run by others."""

    fans_out = True


def pipeline(account: Account) -> Pipeline:
    resources = Resources(cpus=account.work.cpus)
    kind = DoingApart if account.settings.get("apart") else Doing
    stages = [
        kind(step).with_(name=f"step_{number}", resources=resources)
        for number, step in enumerate(account.work.steps)
    ]
    return Pipeline("benchmark", stages=stages)


def main() -> None:
    account = Account()
    tasks = [Task(payload) for payload in account.work.inputs()]
    blocks = account.settings.get("blocks")
    options = RayDataOptions(
        override_num_blocks=blocks, object_store_gb=account.settings.get("object_store_gb")
    )
    private = PrivateCluster(object_store_gb=options.object_store_gb)
    with ExitStack() as stack:
        if account.settings.get("spilled"):  # else the executor starts its own, as for a user
            stack.enter_context(connected(private=private))
        stream = stack.enter_context(pipeline(account).stream(RayDataExecutor(options), tasks))
        account.take(task.data for task in stream)
        account.note("in_hand")
        spilled = spilled_bytes() if account.settings.get("spilled") else None
    account.tell(spilled=spilled)


if __name__ == "__main__":
    main()
