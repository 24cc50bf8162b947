"""Digests: identify the weights behind an answer, in a form short enough for a column."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

_BLOB = re.compile(r"[0-9a-f]{64}")
_LENGTH = 12


def weights_in(folder: Path) -> list[Path]:
    """Return the weight files of a transformers model."""
    safe = sorted(folder.glob("*.safetensors"))
    return safe or sorted(folder.glob("pytorch_model*.bin"))


def digest_of(files: Iterable[Path]) -> str:
    """Return the beginning of the SHA-256 of a file; of several, that of all their digests."""
    found = [_sha256(file) for file in files]
    whole = found[0] if len(found) == 1 else hashlib.sha256("".join(found).encode()).hexdigest()
    return whole[:_LENGTH]


def _sha256(file: Path) -> str:
    blob = file.resolve().name
    if _BLOB.fullmatch(blob):  # the Hugging Face cache names files by their SHA-256
        return blob
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
