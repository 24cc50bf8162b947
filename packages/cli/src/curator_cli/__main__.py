"""Entry point of `curate`: Ctrl-C ends it silently while it is still importing."""

import gc
import signal


def main() -> None:
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # not if ignored, as in the background of a shell
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from curator_cli.app import main as run_command_line

    signal.signal(signal.SIGINT, before)
    try:
        run_command_line()
    finally:
        gc.freeze()  # spares the last collection, a fifth of the time of a short command


if __name__ == "__main__":
    main()
