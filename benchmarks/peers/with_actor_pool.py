"""The work on our actor pool executor: WORK SETTINGS BEGUN."""

from curator_actor_pool import RayActorPoolExecutor
from curator_core import Pipeline, ProcessingStage, Resources, Task
from curator_ray.cluster.connection import connected
from curator_ray.cluster.private import PrivateCluster
from spilling import spilled_bytes
from telling import Account
from works import Payload, Step


class Doing(ProcessingStage[Task[Payload], Task[Payload]]):
    def __init__(self, step: Step) -> None:
        self._step = step

    def process(self, task: Task[Payload]) -> Task[Payload]:
        return task.with_data(self._step(task.data))


def main() -> None:
    account = Account()
    resources = Resources(cpus=account.work.cpus)
    stages = [
        Doing(step).with_(name=f"step_{number}", resources=resources)
        for number, step in enumerate(account.work.steps)
    ]
    executor = RayActorPoolExecutor(config=account.settings.get("config"))
    tasks = [Task(payload) for payload in account.work.inputs()]
    private = PrivateCluster(object_store_gb=account.settings.get("object_store_gb"))
    with connected(private=private):
        account.note("cluster_up")
        with Pipeline("benchmark", stages=stages).stream(executor, tasks) as stream:
            account.take(task.data for task in stream)
        account.note("in_hand")
        spilled = spilled_bytes() if account.settings.get("spilled") else None
    account.tell(spilled=spilled)


if __name__ == "__main__":
    main()
