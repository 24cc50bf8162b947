# Generated from the package's list of public names: run `hatch run generate`.
from curator_core.curation import Curation as Curation
from curator_core.curation_parts import StagesPart as StagesPart
from curator_core.curation_parts import WorkflowPart as WorkflowPart
from curator_core.errors import BudgetError as BudgetError
from curator_core.errors import CuratorError as CuratorError
from curator_core.errors import EmptyRunError as EmptyRunError
from curator_core.errors import InputError as InputError
from curator_core.errors import NothingFoundError as NothingFoundError
from curator_core.errors import OutputError as OutputError
from curator_core.errors import PipelineError as PipelineError
from curator_core.errors import PluginError as PluginError
from curator_core.errors import RemovedInputsError as RemovedInputsError
from curator_core.errors import ResourceError as ResourceError
from curator_core.errors import ResumeError as ResumeError
from curator_core.errors import RunInterrupted as RunInterrupted
from curator_core.errors import StageError as StageError
from curator_core.execution.timeouts import AlarmTimer as AlarmTimer
from curator_core.execution.worker import StageWorker as StageWorker
from curator_core.io.partitioning import FilePartitioning as FilePartitioning
from curator_core.io.readers import JsonlReader as JsonlReader
from curator_core.io.readers import ParquetReader as ParquetReader
from curator_core.io.shuffle import ExchangeReader as ExchangeReader
from curator_core.io.shuffle import ExchangeWriter as ExchangeWriter
from curator_core.io.writers import JsonlWriter as JsonlWriter
from curator_core.io.writers import ParquetWriter as ParquetWriter
from curator_core.local.executor import LocalExecutor as LocalExecutor
from curator_core.model.documents import DocumentBatch as DocumentBatch
from curator_core.model.files import FileGroup as FileGroup
from curator_core.model.files import FilePart as FilePart
from curator_core.model.functions import processing_stage as processing_stage
from curator_core.model.policies import ErrorPolicy as ErrorPolicy
from curator_core.model.policies import FailureBudget as FailureBudget
from curator_core.model.provenance import attach_model as attach_model
from curator_core.model.python_file import PythonFunction as PythonFunction
from curator_core.model.records import QuarantineRecord as QuarantineRecord
from curator_core.model.records import StageCounts as StageCounts
from curator_core.model.resources import NodeInfo as NodeInfo
from curator_core.model.resources import Resources as Resources
from curator_core.model.resources import WorkerInfo as WorkerInfo
from curator_core.model.stages import AnyStage as AnyStage
from curator_core.model.stages import CompositeStage as CompositeStage
from curator_core.model.stages import DropSink as DropSink
from curator_core.model.stages import FusedStage as FusedStage
from curator_core.model.stages import ProcessingStage as ProcessingStage
from curator_core.model.stages import StageResult as StageResult
from curator_core.model.stages import flatten as flatten
from curator_core.model.tasks import AnyTask as AnyTask
from curator_core.model.tasks import Dropped as Dropped
from curator_core.model.tasks import Empty as Empty
from curator_core.model.tasks import Mixed as Mixed
from curator_core.model.tasks import Origin as Origin
from curator_core.model.tasks import Rejected as Rejected
from curator_core.model.tasks import StagedFile as StagedFile
from curator_core.model.tasks import Task as Task
from curator_core.pipeline import Pipeline as Pipeline
from curator_core.plan.executor import Executor as Executor
from curator_core.plan.executor import Run as Run
from curator_core.plan.plan import Plan as Plan
from curator_core.plan.plan import PlannedStage as PlannedStage
from curator_core.plan.service import BusyError as BusyError
from curator_core.plan.service import Reply as Reply
from curator_core.plan.service import Service as Service
from curator_core.plan.validation import find_unreadable_inputs as find_unreadable_inputs
from curator_core.plugins.hookspecs import hookimpl as hookimpl
from curator_core.run.observers import Observer as Observer
from curator_core.run.observers import RunInfo as RunInfo
from curator_core.run.observers import WorkflowInfo as WorkflowInfo
from curator_core.run.options import RunOptions as RunOptions
from curator_core.run.options import WorkflowRunOptions as WorkflowRunOptions
from curator_core.run.result import RunResult as RunResult
from curator_core.run.result import WorkflowResult as WorkflowResult
from curator_core.workflow import Workflow as Workflow
from curator_core.workflow import WorkflowStep as WorkflowStep

__all__ = [
    "AlarmTimer",
    "AnyStage",
    "AnyTask",
    "BudgetError",
    "BusyError",
    "CompositeStage",
    "Curation",
    "CuratorError",
    "DocumentBatch",
    "DropSink",
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
    "FusedStage",
    "InputError",
    "JsonlReader",
    "JsonlWriter",
    "LocalExecutor",
    "Mixed",
    "NodeInfo",
    "NothingFoundError",
    "Observer",
    "Origin",
    "OutputError",
    "ParquetReader",
    "ParquetWriter",
    "Pipeline",
    "PipelineError",
    "Plan",
    "PlannedStage",
    "PluginError",
    "ProcessingStage",
    "PythonFunction",
    "QuarantineRecord",
    "Rejected",
    "RemovedInputsError",
    "Reply",
    "ResourceError",
    "Resources",
    "ResumeError",
    "Run",
    "RunInfo",
    "RunInterrupted",
    "RunOptions",
    "RunResult",
    "Service",
    "StageCounts",
    "StageError",
    "StageResult",
    "StageWorker",
    "StagedFile",
    "StagesPart",
    "Task",
    "WorkerInfo",
    "Workflow",
    "WorkflowInfo",
    "WorkflowPart",
    "WorkflowResult",
    "WorkflowRunOptions",
    "WorkflowStep",
    "attach_model",
    "find_unreadable_inputs",
    "flatten",
    "hookimpl",
    "processing_stage",
]
