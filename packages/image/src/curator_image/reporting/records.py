"""Picture records: kept and dropped pictures of a run, with the values that stages added."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import orjson
from curator_core import FileGroup, FilePart
from curator_core.errors import CuratorError, InputError
from curator_core.io.filesystems import StorageOptions, open_input
from curator_core.io.listing import Wanted, find_files
from curator_core.model.stages import AnyStage, flatten

from curator_image.batches import IMAGE, ImageBatch
from curator_image.duplicates.formats import format_of, reader_for

_FACTS = ("meta.json", "json")


@dataclass(frozen=True)
class Record:
    """One picture, with its bytes if they were kept."""

    facts: dict[str, Any]
    image: bytes | None

    @property
    def name(self) -> str:
        return str(self.facts.get("key", ""))

    @property
    def rank(self) -> bytes:
        """A pseudorandom but stable number: the pictures of lowest rank are a fair sample."""
        source = f"{self.facts.get('source')}\n{self.name}"
        return blake2b(source.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def records_in(
    folder: str, most: int, storage_options: StorageOptions | None = None
) -> Iterator[Record]:
    """Yield up to `most` pictures from a writer's output folder."""
    if not folder:
        return
    given = 0
    for file in _files(folder, storage_options):
        for record in _of_file(file, storage_options):
            yield record
            given += 1
            if given >= most:
                return


def _files(folder: str, storage_options: StorageOptions | None) -> list[FilePart]:
    """List files in pseudorandom order, so that any prefix is a sample."""
    try:
        files = list(find_files([folder], Wanted(), storage_options))
    except InputError:
        return []
    kind = format_of(folder, storage_options)
    if kind == "folder" and not any(file.path.endswith(".jsonl") for file in files):
        return [FilePart(folder)]
    return sorted(files, key=lambda file: blake2b(file.path.encode()).digest())


def _of_file(file: FilePart, storage_options: StorageOptions | None) -> Iterator[Record]:
    if file.path.endswith(".jsonl"):
        with open_input(file.path, storage_options) as source:
            for line in source.read().splitlines():
                yield Record(orjson.loads(line), None)
        return
    kind = format_of(file.path, storage_options)
    reader = reader_for(kind, file.path, storage_options)
    for batch in batches_of(reader, file):
        yield from _of_batch(batch)


def batches_of(reader: AnyStage, file: FilePart) -> Iterator[ImageBatch]:
    """Yield the batches of a file. Errors are ignored, because the run has reported them."""
    *_, reading = flatten([reader])
    parts = [file] if file.version else list(find_files([file.path], Wanted()))
    try:
        given = reading.process(FileGroup(parts))
        found = given if isinstance(given, Iterator) else iter([given])
        yield from (one for one in found if isinstance(one, ImageBatch))
    except CuratorError:
        return


def _of_batch(batch: ImageBatch) -> Iterator[Record]:
    images = [bytes(memoryview(data)) for data in batch.encoded]
    facts = batch.data.drop_columns([IMAGE]).to_pylist()
    for row, image in zip(facts, images, strict=True):
        yield Record({**row, **_beside(row)}, image)


def _beside(row: dict[str, Any]) -> dict[str, Any]:
    """Return the values in the JSON beside a picture."""
    found: dict[str, Any] = {}
    for name in _FACTS:
        text = row.get(name)
        if isinstance(text, str):
            try:
                inside = orjson.loads(text)
            except orjson.JSONDecodeError:
                continue
            found |= inside if isinstance(inside, dict) else {}
    return found
