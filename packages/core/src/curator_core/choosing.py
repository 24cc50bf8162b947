"""Choosing: which executor a run gets when nobody, or only a name, says so."""

import os

from curator_core.executors import Executor


def chosen_executor(wanted: Executor | str | None) -> tuple[Executor, str]:
    """The executor, and why it is that one."""
    if isinstance(wanted, Executor):
        return wanted, "given"
    if wanted is not None:
        return _made(wanted), "given"
    named = os.environ.get("CURATOR_EXECUTOR")
    if named:
        return _made(named), "CURATOR_EXECUTOR says so"
    from curator_core.plugins import plugins

    if "streaming" in plugins().executors.places:
        return _made("streaming"), "it is installed"
    return _made("local"), "no other one is installed"


def _made(name: str) -> Executor:
    from curator_core.plugins import plugins

    executor: Executor = plugins().executors.load(name)()
    return executor
