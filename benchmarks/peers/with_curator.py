"""The work on our streaming executor: WORK SETTINGS BEGUN."""

from typing import Any

from curator_core import Pipeline, ProcessingStage, Resources, Task
from curator_streaming import StreamingExecutor
from curator_streaming.options import StreamingOptions
from deaths import RandomDeaths
from spilling import spilled_bytes
from telling import Account
from works import Payload, Step


class Doing(ProcessingStage[Task[Payload], Task[Payload]]):
    def __init__(self, step: Step) -> None:
        self._step = step

    def process(self, task: Task[Payload]) -> Task[Payload]:
        return task.with_data(self._step(task.data))


def pipeline(account: Account) -> Pipeline:
    hints: dict[str, dict[str, Any]] = {}
    if not account.settings.get("fuse", True):
        hints = {"streaming": {"fuse": False}}
    resources = Resources(cpus=account.work.cpus)
    stages = [
        Doing(step).with_(name=f"step_{number}", resources=resources, hints=hints)
        for number, step in enumerate(account.work.steps)
    ]
    return Pipeline("benchmark", stages=stages)


def main() -> None:
    account = Account()
    tasks = [Task(payload) for payload in account.work.inputs()]
    store = account.settings.get("object_store_gb")
    options = StreamingOptions(cpu_allocation_percentage=1.0, object_store_gb=store)
    executor, work = StreamingExecutor(options), pipeline(account)
    with executor.connected(work.build(tasks=tasks)):  # as a run does; here it is noted when
        account.note("cluster_up")
        deaths = RandomDeaths(account.settings.get("death_every_s"))
        with deaths, work.stream(executor, tasks) as stream:
            account.take(task.data for task in stream)
        account.note("in_hand")
        spilled = spilled_bytes() if account.settings.get("spilled") else None
    account.tell(killed=deaths.number, spilled=spilled)


if __name__ == "__main__":
    main()
