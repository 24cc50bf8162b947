"""A short line from one file to one folder, for tests anywhere that need some pipeline."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from curator_core import DocumentBatch, JsonlReader, JsonlWriter, Pipeline, ProcessingStage
from curator_core.model.stages import AnyStage


class Same(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Gives what it is given."""

    def process(self, task: DocumentBatch) -> DocumentBatch:
        return task


def write_texts(file: Path, texts: Sequence[str]) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


def line(folder: Path, *stages: AnyStage, name: str = "p", mode: Any = "error") -> Pipeline:
    """From the JSON lines in `folder/in` to `folder/out`."""
    reader = JsonlReader(str(folder / "in"))
    writer = JsonlWriter(str(folder / "out"), mode=mode)
    return Pipeline(name, stages=[reader, *stages, writer])


def parts(folder: Path) -> list[Path]:
    """The files that a line has written."""
    return sorted((folder / "out").glob("part-*"))


def texts_in(folder: Path) -> list[str]:
    """All that a line has written."""
    lines = (line for file in parts(folder) for line in file.read_text().splitlines())
    return [json.loads(line)["text"] for line in lines]
