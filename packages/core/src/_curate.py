"""Where the command `curate` begins: Ctrl-C ends it in silence until it is ready to say more.

It stands beside the package, since whatever is in there is imported after all that the package has.
"""

import signal


def main() -> None:
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # and not ignored, as in the background of a shell
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from curator_core.cli.calling import main as called

    signal.signal(signal.SIGINT, before)
    called()
