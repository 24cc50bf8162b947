"""Locating the files of a model: in a folder, or by a name at Hugging Face."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from curator_core import CuratorError
from curator_core.errors import nearest
from curator_core.model.optional_dependencies import not_installed

SMALL_FILES = ("*.json", "*.txt", "*.model", "*.jinja")
"""Settings and tokenizers."""

CODE = ("*.py",)
SAFE_WEIGHTS = ("*.safetensors",)
OLD_WEIGHTS = ("pytorch_model*.bin", "adapter_model.bin")

_OTHER_FORMATS = ["onnx/*", "openvino/*", "coreml/*"]
_NEEDED = ("torch", "transformers", "safetensors")


class ModelError(CuratorError):
    """A model does not exist, or is not of the kind that the stage needs."""


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
    def local(self) -> Path | None:
        """The local folder, if the name is one."""
        path = Path(self.name).expanduser()
        return path if self.name and path.is_dir() else None

    def problems(self) -> Iterator[str]:
        """Yield the problems that can be found without the network."""
        if problem := not_installed(f"model {self.name!r}", _NEEDED, f"pip install '{self.extra}'"):
            yield problem
        variable = self.token_variable
        if variable is not None and variable not in os.environ:
            yield f"token_variable is {variable!r}, but no such environment variable is set"
        local = self.local
        if local is None and _is_like_a_path(self.name):
            yield f"model {self.name!r} is no folder{_beside(self.name)}; {_CHOICES}"
        elif local is not None and not _has_settings(local):
            yield f"model {self.name!r} is a folder without config.json; {_CHOICES}"

    def fetch(self, *, weights: bool = True) -> Path:
        """Return the folder of the model; download it if needed."""
        if (local := self.local) is not None:
            return local
        small = SMALL_FILES + (CODE if self.with_code else ())
        folder = self._snapshot(small + (SAFE_WEIGHTS if weights else ()))
        if weights and not any(folder.rglob("*.safetensors")):
            folder = self._snapshot(small + OLD_WEIGHTS)
        return folder

    def folder(self) -> Path:
        """Return the folder of the model that `fetch` downloaded on this node."""
        if (local := self.local) is not None:
            return local
        return self._snapshot(SMALL_FILES, only_here=True)

    def _snapshot(self, patterns: Sequence[str], *, only_here: bool = False) -> Path:
        try:
            from huggingface_hub import snapshot_download
            from huggingface_hub.errors import HfHubHTTPError
        except ImportError:
            raise ModelError("\n".join(self.problems())) from None
        try:
            found = snapshot_download(
                self.name,
                revision=self.revision,
                cache_dir=self.cache_dir,
                token=os.environ.get(self.token_variable) if self.token_variable else None,
                allow_patterns=list(patterns),
                ignore_patterns=_OTHER_FORMATS,
                local_files_only=only_here,
            )
        except (OSError, ValueError, HfHubHTTPError) as error:
            raise ModelError(self._absence(error)) from error
        return Path(found)

    def _absence(self, error: Exception) -> str:
        first = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
        version = f" in revision {self.revision!r}" if self.revision else ""
        return (
            f"model {self.name!r}{version} cannot be had from Hugging Face: {first}; {_CHOICES}. "
            "Without a network, put it into cache_dir beforehand (hf download) and set "
            "HF_HUB_OFFLINE=1; if it asks for a licence, accept it there and name the environment "
            "variable of your token in token_variable"
        )


_CHOICES = "give the folder of a model, or its name at Hugging Face, such as 'owner/name'"


def settings_in(folder: Path, name: str = "config.json") -> dict[str, Any]:
    """Return the content of a model's JSON file; empty if there is no such file."""
    try:
        found = json.loads((folder / name).read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {folder / name}: {error}") from error
    return found if isinstance(found, dict) else {}


def _is_like_a_path(name: str) -> bool:
    """Return whether a name cannot be one at Hugging Face, or begins with an existing folder."""
    if not name or name.startswith(("/", ".", "~")) or name.count("/") > 1 or "\\" in name:
        return True
    return "/" in name and Path(name).parent.is_dir()


def _beside(name: str) -> str:
    """Suggest an existing folder with a similar name."""
    place = Path(name).expanduser()
    if not name or not place.parent.is_dir():
        return ""
    there = [path.name for path in place.parent.iterdir() if path.is_dir()]
    meant = nearest(place.name, there)
    return f" (did you mean {place.parent / meant}?)" if meant else ""


def _has_settings(folder: Path) -> bool:
    """Return whether there are settings, including those of sentence-transformers and adapters."""
    names = ("config.json", "modules.json", "adapter_config.json")
    return any((folder / name).is_file() for name in names)
