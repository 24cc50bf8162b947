"""Tasks, stages, resources, pipelines and the executor interface."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from curator_core.errors import (
    BudgetError,
    CuratorError,
    EmptyRunError,
    InputError,
    NothingFoundError,
    OutputError,
    PipelineError,
    PluginError,
    RemovedInputsError,
    ResourceError,
    ResumeError,
    RunInterrupted,
    StageError,
)
from curator_core.local.executor import LocalExecutor
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FileGroup, FilePart
from curator_core.model.functions import processing_stage
from curator_core.model.policies import ErrorPolicy, FailureBudget
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_core.model.resources import NodeInfo, Resources, WorkerInfo
from curator_core.model.stages import AnyStage, CompositeStage, ProcessingStage
from curator_core.model.tasks import Dropped, Empty, Mixed, Rejected, Task
from curator_core.pipeline import Pipeline
from curator_core.plan.executor import Executor
from curator_core.plugins.hookspecs import hookimpl
from curator_core.run.result import RunResult
from curator_core.workflow import Workflow, WorkflowResult

if TYPE_CHECKING:
    from curator_core.io.partitioning import FilePartitioning
    from curator_core.io.readers.jsonl import JsonlReader
    from curator_core.io.readers.parquet import ParquetReader
    from curator_core.io.shuffle import ExchangeReader, ExchangeWriter
    from curator_core.io.writers.jsonl import JsonlWriter
    from curator_core.io.writers.parquet import ParquetWriter
    from curator_core.plan.service import BusyError, Reply, Service

__all__ = [
    "AnyStage",
    "BudgetError",
    "BusyError",
    "CompositeStage",
    "CuratorError",
    "DocumentBatch",
    "Dropped",
    "Empty",
    "EmptyRunError",
    "ErrorPolicy",
    "ExchangeReader",
    "ExchangeWriter",
    "Executor",
    "FailureBudget",
    "FileGroup",
    "FilePart",
    "FilePartitioning",
    "InputError",
    "JsonlReader",
    "JsonlWriter",
    "LocalExecutor",
    "Mixed",
    "NodeInfo",
    "NothingFoundError",
    "OutputError",
    "ParquetReader",
    "ParquetWriter",
    "Pipeline",
    "PipelineError",
    "PluginError",
    "ProcessingStage",
    "QuarantineRecord",
    "Rejected",
    "RemovedInputsError",
    "Reply",
    "ResourceError",
    "Resources",
    "ResumeError",
    "RunInterrupted",
    "RunResult",
    "Service",
    "StageCounts",
    "StageError",
    "Task",
    "WorkerInfo",
    "Workflow",
    "WorkflowResult",
    "hookimpl",
    "processing_stage",
]

_WHEN_ASKED_FOR = {
    "BusyError": "curator_core.plan.service",
    "ExchangeReader": "curator_core.io.shuffle",
    "ExchangeWriter": "curator_core.io.shuffle",
    "FilePartitioning": "curator_core.io.partitioning",
    "JsonlReader": "curator_core.io.readers.jsonl",
    "JsonlWriter": "curator_core.io.writers.jsonl",
    "ParquetReader": "curator_core.io.readers.parquet",
    "ParquetWriter": "curator_core.io.writers.parquet",
    "Reply": "curator_core.plan.service",
    "Service": "curator_core.plan.service",
}


def __getattr__(name: str) -> Any:
    """Import readers and writers on first use, because their libraries are slow to import."""
    if name not in _WHEN_ASKED_FOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHEN_ASKED_FOR[name]), name)
