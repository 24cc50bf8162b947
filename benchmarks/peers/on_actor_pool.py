"""The work on `ray.util.ActorPool`, as an engine of pools does it: WORK SETTINGS BEGUN.

For each stage: as many actors as fit, each set up; tasks go to whoever is free and come back to the
driver, all of them, before the next stage; then the actors are torn down and ended.
"""

from collections.abc import Sequence

import ray
from ray.util import ActorPool
from telling import Account
from works import Payload, Step


@ray.remote
class Working:
    def __init__(self, step: Step) -> None:
        self._step = step

    def setup(self) -> None:
        """What a stage does before its first task."""

    def process(self, tasks: Sequence[Payload]) -> list[Payload]:
        return [self._step(task) for task in tasks]

    def teardown(self) -> None:
        """What a stage does after its last one."""


def passed(step: Step, tasks: Sequence[Payload], cpus: float) -> list[Payload]:
    number = int(ray.cluster_resources()["CPU"] / cpus)
    actors = [Working.options(num_cpus=cpus).remote(step) for _ in range(number)]
    ray.get([actor.setup.remote() for actor in actors])
    done = ActorPool(actors).map_unordered(
        lambda actor, task: actor.process.remote([task]), list(tasks)
    )
    outputs = [output for batch in done for output in batch]
    ray.get([actor.teardown.remote() for actor in actors])
    for actor in actors:
        ray.kill(actor)
    return outputs


def main() -> None:
    account = Account()
    ray.init(address="local", include_dashboard=False, log_to_driver=False, configure_logging=False)
    account.note("cluster_up")
    tasks = list(account.work.inputs())
    for step in account.work.steps:
        tasks = passed(step, tasks, account.work.cpus)
    account.take(tasks)
    account.note("in_hand")
    ray.shutdown()
    account.tell()


if __name__ == "__main__":
    main()
