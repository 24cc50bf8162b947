"""Entry point of `curate`: Ctrl-C ends it silently while it is still importing.

It is outside of the package: inside, it would run only after the package is imported.
"""

import signal


def main() -> None:
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # not if ignored, as in the background of a shell
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from curator_core.cli.calling import main as called

    signal.signal(signal.SIGINT, before)
    called()
