"""Run readers in tests: their outputs, and the reasons of what they reject."""

import io
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from curator_audio import (
    AudioBatch,
)
from curator_core import AnyStage, Empty
from curator_core.testing import run_stages


def tar(path: Path, members: Mapping[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def read(stage: AnyStage) -> tuple[list[AudioBatch], list[str]]:
    """Return the outputs of a reader, and the reasons of its rejections."""
    run = run_stages([stage], [Empty()], on_error="quarantine")
    parts = run.report.parts.values()
    problems = [f"{one.where}: {one.reason}" for part in parts for one in part.quarantined]
    return batches_of(run.outputs), problems


def batches_of(outputs: Sequence[object]) -> list[AudioBatch]:
    batches = [batch for batch in outputs if isinstance(batch, AudioBatch)]
    assert len(batches) == len(outputs)
    return batches
