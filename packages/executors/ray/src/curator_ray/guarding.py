"""A guard that ends a private cluster when its owner is gone.

Everything that Ray starts carries the guard's mark (elsewhere than on Linux, Ray's own reaper has
to do). What cannot be ended at once is looked for again: a raylet may have started one more worker
in the meantime.
"""

from curator_core.guards import GuardProcess

_DUTY = """
import shutil
sys.stdin.read()
for attempt in range(50):
    found = ours()
    if not found:
        break
    for process in found:
        end(os.kill, process)
    time.sleep(0.02)
shutil.rmtree(arguments[0], ignore_errors=True)
"""


class ClusterGuard(GuardProcess):
    """Sees to it that nothing of a cluster, and nothing in its folder, outlives this process."""

    def __init__(self, folder: str) -> None:
        super().__init__(_DUTY, folder)
