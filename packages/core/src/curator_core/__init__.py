"""Tasks, stages, resources, pipelines and the executor interface."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from curator_core.documents import DocumentBatch
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
from curator_core.executors import Executor
from curator_core.files import FileGroup, FilePart
from curator_core.functions import processing_stage
from curator_core.hookspecs import hookimpl
from curator_core.local.executor import LocalExecutor
from curator_core.outcomes import Dropped, Mixed, Rejected
from curator_core.pipelines import Pipeline
from curator_core.places import NodeInfo, WorkerInfo
from curator_core.policies import ErrorPolicy, FailureBudget
from curator_core.resources import Resources
from curator_core.results import QuarantineRecord, RunResult, StageCounts
from curator_core.stages import AnyStage, CompositeStage, ProcessingStage
from curator_core.tasks import Empty, Task
from curator_core.workflows import Workflow, WorkflowResult

if TYPE_CHECKING:
    from curator_core.exchanges import ExchangeReader, ExchangeWriter
    from curator_core.partitioning import FilePartitioning
    from curator_core.reading.jsonl import JsonlReader
    from curator_core.reading.parquet import ParquetReader
    from curator_core.services import BusyError, Reply, Service
    from curator_core.writing.jsonl import JsonlWriter
    from curator_core.writing.parquet import ParquetWriter

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
    "BusyError": "curator_core.services",
    "ExchangeReader": "curator_core.exchanges",
    "ExchangeWriter": "curator_core.exchanges",
    "FilePartitioning": "curator_core.partitioning",
    "JsonlReader": "curator_core.reading.jsonl",
    "JsonlWriter": "curator_core.writing.jsonl",
    "ParquetReader": "curator_core.reading.parquet",
    "ParquetWriter": "curator_core.writing.parquet",
    "Reply": "curator_core.services",
    "Service": "curator_core.services",
}


def __getattr__(name: str) -> Any:
    """Readers and writers need libraries that cost time to import, and not everybody needs them."""
    if name not in _WHEN_ASKED_FOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHEN_ASKED_FOR[name]), name)
