"""Run options: what `Pipeline.run`, `Pipeline.stream` and `Workflow.run` accept by name."""

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from curator_core.errors import hint
from curator_core.io.filesystems import StorageOptions
from curator_core.model.policies import OnError
from curator_core.run.input_changes import InputPolicy, RemovedInputs
from curator_core.run.observers import Observer


class WorkflowRunOptions(TypedDict, total=False):
    """Options of `Workflow.run`, all optional. Pipelines have them too."""

    resume: bool
    """Whether to process only what an earlier run left. Default: True."""

    removed_inputs: RemovedInputs | InputPolicy
    """What to do if input files of an earlier run were removed, but their output still exists.

    "stop", the default, raises RemovedInputsError before anything is written. "prune" deletes that
    output, and "keep" keeps it. Renamed files are recognized and do not count as removed.
    """

    shared: bool
    """Whether the group of the run directory may resume the run too. Default: False."""

    observers: Iterable[Observer]
    """Watch the run, in addition to observers of installed packages. Default: none."""

    progress: bool
    """Whether to log lines about progress, or to show curator-report's table on a terminal.

    Default: True.
    """


class RunOptions(WorkflowRunOptions, total=False):
    """Options of `Pipeline.run` and `Pipeline.stream`, all optional."""

    on_error: OnError | None
    """Replaces `on_error` of the pipeline, except for stages that set their own."""

    storage_options: StorageOptions | None
    """For a `run_dir` on another file system than the outputs. Default: those of an output."""


def refuse_unknown_options(options: Mapping[str, Any], known: type) -> None:
    """Raise the TypeError that Python raises for unknown arguments."""
    for name in options.keys() - known.__annotations__.keys():
        raise TypeError(f"run() has no option {name!r}{hint(name, known.__annotations__)}")
