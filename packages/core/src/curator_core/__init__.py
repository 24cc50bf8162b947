"""Tasks, stages, resources, pipelines and the executor interface."""

from curator_core.documents import DocumentBatch
from curator_core.errors import (
    BudgetError,
    CuratorError,
    EmptyRunError,
    InputError,
    OutputError,
    PipelineError,
    PluginError,
    ResourceError,
    ResumeError,
    RunInterrupted,
    StageError,
)
from curator_core.executors import Executor
from curator_core.files import FileGroup, FilePart
from curator_core.functions import processing_stage
from curator_core.local.executor import LocalExecutor
from curator_core.outcomes import Dropped, Mixed, Rejected
from curator_core.pipelines import Pipeline
from curator_core.places import NodeInfo, WorkerInfo
from curator_core.policies import ErrorPolicy, FailureBudget
from curator_core.resources import Resources
from curator_core.results import RunResult, StageCounts
from curator_core.stages import CompositeStage, ProcessingStage
from curator_core.tasks import Empty, Task
from curator_core.workflows import Workflow, WorkflowResult

__all__ = [
    "BudgetError",
    "CompositeStage",
    "CuratorError",
    "DocumentBatch",
    "Dropped",
    "Empty",
    "EmptyRunError",
    "ErrorPolicy",
    "Executor",
    "FailureBudget",
    "FileGroup",
    "FilePart",
    "InputError",
    "LocalExecutor",
    "Mixed",
    "NodeInfo",
    "OutputError",
    "Pipeline",
    "PipelineError",
    "PluginError",
    "ProcessingStage",
    "Rejected",
    "ResourceError",
    "Resources",
    "ResumeError",
    "RunInterrupted",
    "RunResult",
    "StageCounts",
    "StageError",
    "Task",
    "WorkerInfo",
    "Workflow",
    "WorkflowResult",
    "processing_stage",
]
