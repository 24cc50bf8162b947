"""The files of a model: in a local folder, or downloaded from Hugging Face."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from curator_core import CuratorError
from curator_core.errors import nearest
from curator_core.model.optional_dependencies import not_installed

SMALL_FILES = ("*.json", "*.txt", "*.model", "*.jinja")
"""Settings and tokenizers."""

CODE = ("*.py",)
SAFE_WEIGHTS = ("*.safetensors",)
OLD_WEIGHTS = ("pytorch_model*.bin", "adapter_model.bin")

_OTHER_FORMATS = ["onnx/*", "openvino/*", "coreml/*"]
_LIBRARIES = ("torch", "transformers", "safetensors")
_CHOICES = "give the folder of a model, or its name at Hugging Face, such as 'owner/name'"


class ModelError(CuratorError):
    """A model does not exist, or is not of the kind that the stage needs."""


class ModelFiles(Protocol):
    """The files of a model, such as a `ModelSource` or a `WeightsFile`."""

    def problems(self) -> Iterable[str]:
        """Yield the problems that can be found without the network."""

    def fetch(self) -> Any:
        """Download the files if needed."""


@dataclass(frozen=True)
class ModelSource:
    """The location of a model. A token is only given as the name of an environment variable."""

    extra: ClassVar[str] = "curator-models[transformers]"
    """The package to install, for messages; each modality has its own extra."""

    name: str
    revision: str | None = None
    cache_dir: str | None = None
    token_variable: str | None = None
    with_code: bool = False
    """Whether to download the code next to the weights too."""

    @property
    def local_folder(self) -> Path | None:
        """The local folder, if the name is one."""
        path = Path(self.name).expanduser()
        return path if self.name and path.is_dir() else None

    def problems(self) -> Iterator[str]:
        """Yield the problems that can be found without the network."""
        command = f"pip install '{self.extra}'"
        if problem := not_installed(f"model {self.name!r}", _LIBRARIES, command):
            yield problem
        variable = self.token_variable
        if variable is not None and variable not in os.environ:
            yield f"token_variable is {variable!r}, but no such environment variable is set"
        local = self.local_folder
        if local is None and _looks_like_a_path(self.name):
            yield f"model {self.name!r} is not a folder{_did_you_mean(self.name)}; {_CHOICES}"
        elif local is not None and not _has_config(local):
            yield f"model {self.name!r} is a folder without config.json; {_CHOICES}"

    def fetch(self, *, weights: bool = True) -> Path:
        """Return the folder of the model; download it if needed."""
        if (local := self.local_folder) is not None:
            return local
        small = SMALL_FILES + (CODE if self.with_code else ())
        folder = self._snapshot(small + (SAFE_WEIGHTS if weights else ()))
        if weights and not any(folder.rglob("*.safetensors")):
            folder = self._snapshot(small + OLD_WEIGHTS)
        return folder

    def folder(self) -> Path:
        """Return the folder of the model that `fetch` downloaded on this node."""
        if (local := self.local_folder) is not None:
            return local
        return self._snapshot(SMALL_FILES, local_only=True)

    def _snapshot(self, patterns: Sequence[str], *, local_only: bool = False) -> Path:
        try:
            from huggingface_hub import snapshot_download
            from huggingface_hub.errors import HfHubHTTPError
        except ImportError:
            raise ModelError("\n".join(self.problems())) from None
        try:
            folder = snapshot_download(
                self.name,
                revision=self.revision,
                cache_dir=self.cache_dir,
                token=os.environ.get(self.token_variable) if self.token_variable else None,
                allow_patterns=list(patterns),
                ignore_patterns=_OTHER_FORMATS,
                local_files_only=local_only,
            )
        except (OSError, ValueError, HfHubHTTPError) as error:
            raise ModelError(self._download_problem(error)) from error
        return Path(folder)

    def _download_problem(self, error: Exception) -> str:
        revision = f" in revision {self.revision!r}" if self.revision else ""
        return (
            f"cannot get model {self.name!r}{revision} from Hugging Face: {first_line(error)}; "
            f"{_CHOICES}. "
            "Without a network, put it into cache_dir beforehand (hf download) and set "
            "HF_HUB_OFFLINE=1; if it asks for a licence, accept it there and name the environment "
            "variable of your token in token_variable"
        )


def read_config(folder: Path, name: str = "config.json") -> dict[str, Any]:
    """Return the content of a model's JSON file; empty if it does not exist."""
    try:
        config = json.loads((folder / name).read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {folder / name}: {error}") from error
    return config if isinstance(config, dict) else {}


def _looks_like_a_path(name: str) -> bool:
    """Return whether a name cannot be one at Hugging Face, or begins with an existing folder."""
    if not name or name.startswith(("/", ".", "~")) or name.count("/") > 1 or "\\" in name:
        return True
    return "/" in name and Path(name).parent.is_dir()


def _did_you_mean(name: str) -> str:
    """Suggest an existing folder with a similar name."""
    path = Path(name).expanduser()
    if not name or not path.parent.is_dir():
        return ""
    folders = [other.name for other in path.parent.iterdir() if other.is_dir()]
    similar = nearest(path.name, folders)
    return f" (did you mean {path.parent / similar}?)" if similar else ""


def _has_config(folder: Path) -> bool:
    """Return whether a config is there; sentence-transformers and adapters have their own."""
    names = ("config.json", "modules.json", "adapter_config.json")
    return any((folder / name).is_file() for name in names)


def first_line(error: Exception) -> str:
    """Return the first line of a message: transformers and huggingface_hub often write pages."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
