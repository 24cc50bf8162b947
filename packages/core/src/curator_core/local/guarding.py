"""A guard that ends the workers of a pool when their parent is gone.

Workers lead process groups of their own, so that what they started goes with them; what left its
group is known by its mark.
"""

from curator_core.guards import GuardProcess

_DUTY = """
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    end(os.killpg, group)
for process in ours():
    end(os.kill, process)
"""


class Guard(GuardProcess):
    """Knows which process groups must not outlive this process."""

    def __init__(self) -> None:
        super().__init__(_DUTY)

    def watch(self, group: int) -> None:
        self.say(f"+{group}\n")

    def forget(self, group: int) -> None:
        self.say(f"-{group}\n")
