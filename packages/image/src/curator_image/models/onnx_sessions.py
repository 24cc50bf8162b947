"""Sessions of onnxruntime, on the device granted to the worker."""

from pathlib import Path
from typing import Any

from curator_core import WorkerInfo
from curator_models.locating import ModelError

_ERRORS_ONLY = 3


def session_of(file: Path, worker: WorkerInfo) -> Any:
    """Load a model, on a GPU if one was granted and is usable, else on the granted CPU cores."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = max(1, int(worker.granted.cpus))
    options.log_severity_level = _ERRORS_ONLY
    there = onnxruntime.get_available_providers()
    wanted = ["CUDAExecutionProvider"] if worker.gpu_ids else []
    providers = [name for name in wanted if name in there] + ["CPUExecutionProvider"]
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=providers)
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelError(f"{file} is no model that onnxruntime can run: {first}") from error
