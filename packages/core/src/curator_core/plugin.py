"""The plugin of core itself, registered through the same hooks as every plugin."""

from curator_core.plugins.hookspecs import hookimpl

EXPORTS = {
    "curator_core.errors": (
        "BudgetError",
        "CuratorError",
        "EmptyRunError",
        "InputError",
        "NothingFoundError",
        "OutputError",
        "PipelineError",
        "PluginError",
        "RemovedInputsError",
        "ResourceError",
        "ResumeError",
        "RunInterrupted",
        "StageError",
    ),
    "curator_core.curation": ("Curation",),
    "curator_core.curation_parts": ("StagesPart", "WorkflowPart"),
    "curator_core.execution.timeouts": ("AlarmTimer",),
    "curator_core.execution.worker": ("StageWorker",),
    "curator_core.model.documents": ("DocumentBatch",),
    "curator_core.model.files": (
        "FileGroup",
        "FilePart",
    ),
    "curator_core.model.functions": ("processing_stage",),
    "curator_core.model.policies": (
        "ErrorPolicy",
        "FailureBudget",
    ),
    "curator_core.model.provenance": ("attach_model",),
    "curator_core.model.python_file": ("PythonFunction",),
    "curator_core.model.records": (
        "QuarantineRecord",
        "StageCounts",
    ),
    "curator_core.model.resources": (
        "NodeInfo",
        "Resources",
        "WorkerInfo",
    ),
    "curator_core.model.stages": (
        "AnyStage",
        "CompositeStage",
        "DropSink",
        "FusedStage",
        "ProcessingStage",
        "StageResult",
        "flatten",
    ),
    "curator_core.model.tasks": (
        "AnyTask",
        "Dropped",
        "Empty",
        "Mixed",
        "Origin",
        "Rejected",
        "StagedFile",
        "Task",
    ),
    "curator_core.pipeline": ("Pipeline",),
    "curator_core.plan.executor": (
        "Executor",
        "Run",
    ),
    "curator_core.plan.plan": (
        "Plan",
        "PlannedStage",
    ),
    "curator_core.plan.service": (
        "BusyError",
        "Reply",
        "Service",
    ),
    "curator_core.plan.validation": ("find_unreadable_inputs",),
    "curator_core.plugins.hookspecs": ("hookimpl",),
    "curator_core.run.observers": (
        "Observer",
        "RunInfo",
        "WorkflowInfo",
    ),
    "curator_core.run.options": (
        "RunOptions",
        "WorkflowRunOptions",
    ),
    "curator_core.run.result": (
        "RunResult",
        "WorkflowResult",
    ),
    "curator_core.workflow": ("Workflow", "WorkflowStep"),
}
"""Public names besides what the hooks register, by module."""


@hookimpl
def curator_stages() -> dict[str, str]:
    return {
        "core.exchange_reader": "curator_core.io.shuffle:ExchangeReader",
        "core.exchange_writer": "curator_core.io.shuffle:ExchangeWriter",
        "core.file_partitioning": "curator_core.io.partitioning:FilePartitioning",
        "core.jsonl_reader": "curator_core.io.readers:JsonlReader",
        "core.jsonl_writer": "curator_core.io.writers:JsonlWriter",
        "core.parquet_reader": "curator_core.io.readers:ParquetReader",
        "core.parquet_writer": "curator_core.io.writers:ParquetWriter",
    }


@hookimpl
def curator_executors() -> dict[str, str]:
    return {"core.local": "curator_core.local.executor:LocalExecutor"}
