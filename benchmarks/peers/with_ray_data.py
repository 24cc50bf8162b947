"""The work on Ray Data, row by row or in batches: WORK SETTINGS BEGUN."""

import os
import threading
import time
from typing import Any

import ray
import ray.data
from telling import Account
from works import Step


class InBatches:
    """A step for `map_batches`, which gives and takes columns."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def __call__(self, columns: dict[str, Any]) -> dict[str, list[Any]]:
        names = list(columns)
        rows = zip(*(columns[name].tolist() for name in names), strict=True)
        done = [self._step(dict(zip(names, row, strict=True))) for row in rows]
        return {name: [task[name] for task in done] for name in done[0]}


def dataset(account: Account) -> ray.data.Dataset:
    """Steps are tasks without state, which Ray Data fuses: actors were slower in all our tries."""
    work, settings = account.work, account.settings
    blocks = settings.get("blocks")
    made = ray.data.from_items(list(work.inputs()), override_num_blocks=blocks)
    for step in work.steps:
        batch = settings.get("batch")
        if batch:
            made = made.map_batches(InBatches(step), batch_size=batch, num_cpus=work.cpus)
        else:
            made = made.map(step.__call__, num_cpus=work.cpus)
    return made


def give_up_after(seconds: float, account: Account) -> None:
    """Tell how far it came, even if it would go on for ever."""

    def end() -> None:
        time.sleep(seconds)
        account.tell(gave_up_s=seconds)
        os._exit(0)

    threading.Thread(target=end, daemon=True).start()


def main() -> None:
    account = Account()
    ray.init(address="local", include_dashboard=False, log_to_driver=False)
    account.note("cluster_up")
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    if "give_up_s" in account.settings:
        give_up_after(account.settings["give_up_s"], account)
    rows: Any = dataset(account).iter_rows()
    account.take(rows)
    account.tell()


if __name__ == "__main__":
    main()
