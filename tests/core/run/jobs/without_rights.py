"""Run a job as a user without special rights, even if root runs the tests:

python without_rights.py JOB ARGUMENT…
"""

import ctypes
import os
import runpy
import sys
from pathlib import Path

CAPABILITY_VERSION_3 = 0x20080522
DROP_FOR_GOOD = 24  # PR_CAPBSET_DROP
IGNORE_PERMISSIONS = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


def give_up_rights() -> None:
    """Without these, root and its child processes only have the rights of a file's owner."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in IGNORE_PERMISSIONS:
        succeeded(libc.prctl(DROP_FOR_GOOD, capability, 0, 0, 0))
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then the upper halves
    succeeded(libc.capget(header, sets))
    for number in range(3):
        sets[number] &= ~sum(1 << capability for capability in IGNORE_PERMISSIONS)
    succeeded(libc.capset(header, sets))


def succeeded(code: int) -> None:
    if code != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    if os.geteuid() == 0:
        give_up_rights()
    del sys.argv[0]
    sys.path.insert(0, str(Path(sys.argv[0]).parent))
    runpy.run_path(sys.argv[0], run_name="__main__")
