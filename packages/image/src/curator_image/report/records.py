"""Picture records: kept and dropped pictures of a run, with the values that stages added."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import orjson
from curator_core import AnyStage, FileGroup, FilePart, flatten
from curator_core.errors import CuratorError, InputError
from curator_core.io.filesystems import StorageOptions, open_input
from curator_core.io.listing import FileFilter, find_files

from curator_image.image_batch import IMAGE, ImageBatch
from curator_image.storage_formats import detect_storage_format, reader_for

_JSON_COLUMNS = ("meta.json", "json")


@dataclass(frozen=True)
class PictureRecord:
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


def read_records(
    folder: str, limit: int, storage_options: StorageOptions | None = None
) -> Iterator[PictureRecord]:
    """Yield up to `limit` pictures from a writer's output folder."""
    if not folder:
        return
    count = 0
    for file in _shuffled_files(folder, storage_options):
        for record in _file_records(file, storage_options):
            yield record
            count += 1
            if count >= limit:
                return


def _shuffled_files(folder: str, storage_options: StorageOptions | None) -> list[FilePart]:
    """List files in pseudorandom order, so that any prefix is a sample."""
    try:
        files = list(find_files([folder], FileFilter(), storage_options))
    except InputError:
        return []
    kind = detect_storage_format(folder, storage_options)
    if kind == "folder" and not any(file.path.endswith(".jsonl") for file in files):
        return [FilePart(folder)]
    return sorted(files, key=lambda file: blake2b(file.path.encode()).digest())


def _file_records(
    file: FilePart, storage_options: StorageOptions | None
) -> Iterator[PictureRecord]:
    if file.path.endswith(".jsonl"):
        with open_input(file.path, storage_options) as source:
            for line in source.read().splitlines():
                yield PictureRecord(orjson.loads(line), None)
        return
    kind = detect_storage_format(file.path, storage_options)
    reader = reader_for(kind, file.path, storage_options)
    for batch in read_batches(reader, file):
        yield from _batch_records(batch)


def read_batches(reader: AnyStage, file: FilePart) -> Iterator[ImageBatch]:
    """Yield the batches of a file. Errors are ignored, because the run has reported them."""
    *_, reading = flatten([reader])
    parts = [file] if file.version else list(find_files([file.path], FileFilter()))
    try:
        result = reading.process(FileGroup(parts))
        outputs = result if isinstance(result, Iterator) else iter([result])
        yield from (one for one in outputs if isinstance(one, ImageBatch))
    except CuratorError:
        return


def _batch_records(batch: ImageBatch) -> Iterator[PictureRecord]:
    images = [bytes(memoryview(data)) for data in batch.encoded]
    facts = batch.data.drop_columns([IMAGE]).to_pylist()
    for row, image in zip(facts, images, strict=True):
        yield PictureRecord({**row, **_sidecar_facts(row)}, image)


def _sidecar_facts(row: dict[str, Any]) -> dict[str, Any]:
    """Return the values in the JSON sidecars of a picture."""
    found: dict[str, Any] = {}
    for name in _JSON_COLUMNS:
        text = row.get(name)
        if isinstance(text, str):
            try:
                inside = orjson.loads(text)
            except orjson.JSONDecodeError:
                continue
            found |= inside if isinstance(inside, dict) else {}
    return found
