"""A guard that ends a private cluster when its owner is gone.

Everything that Ray starts carries the guard's mark (elsewhere than on Linux, Ray's own reaper has
to do). What cannot be ended at once is looked for again: a raylet may have started one more worker
in the meantime.
"""

from curator_core.local.watchdog import WatchdogProcess

_DUTY = """
import shutil
was_told = sys.stdin.read()
for attempt in range(50):
    found = ours()
    if not found:
        break
    for process in found:
        end(os.kill, process)
    time.sleep(0.02)
shutil.rmtree(arguments[0], ignore_errors=True)
if not was_told:
    try:
        print(arguments[1], file=sys.stderr, flush=True)
    except OSError:
        pass
"""

_LAST_WORDS = (
    "curator: the process that ran on a private Ray cluster ended without a word: it was killed, "
    "or Ray ended it because a part of the cluster had died. What its run has finished is kept; "
    "run the same command again to resume"
)
"""Ray's library ends its process, without an exception, where the raylet is gone."""


class ClusterGuard(WatchdogProcess):
    """Sees to it that nothing of a cluster, and nothing in its folder, outlives this process.

    Where that ends without having dismissed it, it says so in its place.
    """

    def __init__(self, folder: str) -> None:
        super().__init__(_DUTY, folder, _LAST_WORDS)

    def finish(self) -> None:
        self.send_line("well")
        super().finish()
