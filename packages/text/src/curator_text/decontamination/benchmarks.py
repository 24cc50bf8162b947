"""Benchmarks: read the examples in benchmark files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from curator_core import DocumentBatch, FileGroup, FilePart, InputError
from curator_core.errors import hint
from curator_core.io.compression import compression_of, decompress
from curator_core.io.filesystems import StorageOptions, base_name, open_input
from curator_core.io.listing import FileFilter, find_files
from curator_core.io.readers import JSONL_ENDINGS, JsonlReader, ParquetReader, ReadingStage

_TEXT_ENDINGS = (".txt", ".txt.gz", ".txt.zst", ".txt.bz2", ".txt.xz")
_PARQUET_ENDINGS = (".parquet", ".pq")
BENCHMARK_FILES = FileFilter((*JSONL_ENDINGS, *_PARQUET_ENDINGS, *_TEXT_ENDINGS))


class BenchmarkExample(NamedTuple):
    """A text of a benchmark, and its location."""

    benchmark: str
    name: str
    text: str


@dataclass(frozen=True)
class Benchmarks:
    """Benchmark files by name, and the columns to use."""

    paths: Mapping[str, Sequence[str]]
    fields: Sequence[str] | None = None
    storage_options: StorageOptions | None = None

    def files(self) -> Iterator[tuple[str, FilePart]]:
        for name, paths in self.paths.items():
            for part in find_files(paths, BENCHMARK_FILES, self.storage_options):
                yield name, part

    def examples(self) -> Iterator[BenchmarkExample]:
        """Yield every text column of each record, or the paragraphs of plain text.

        Damage is an error, because examples that cannot be read would not be searched for.
        """
        for name, part in self.files():
            for index, texts in enumerate(self._records(part)):
                location = f"{base_name(part.path)}:{index + 1}"
                yield from (BenchmarkExample(name, location, text) for text in texts)

    def _records(self, part: FilePart) -> Iterator[list[str]]:
        if part.path.lower().endswith(_TEXT_ENDINGS):
            yield from ([text] for text in self._paragraphs(part.path))
            return
        kind = ParquetReader if part.path.lower().endswith(_PARQUET_ENDINGS) else JsonlReader
        reader = kind(part.path, text_field=None, storage_options=self.storage_options)
        reading = cast(ReadingStage[Any], reader.decompose()[1])
        for batch in reading.process(FileGroup([part])):
            if not isinstance(batch, DocumentBatch):
                raise InputError(f"cannot read {part.path}: {batch.reason}")
            self._check_fields(part.path, batch.data.column_names)
            yield from map(self._record_texts, batch.data.to_pylist())

    def _paragraphs(self, path: str) -> list[str]:
        kind = compression_of(path)
        if kind is None:
            with open_input(path, self.storage_options) as file:
                content = file.read()
        else:
            content = b"".join(decompress(lambda: open_input(path, self.storage_options), kind))
        try:
            text = content.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not UTF-8 text: {error.reason}") from None
        return [paragraph for paragraph in text.split("\n\n") if paragraph.strip()]

    def _check_fields(self, path: str, columns: Sequence[str]) -> None:
        for name in self.fields or ():
            if name not in columns:
                raise InputError(f"benchmark {path} has no field {name!r}{hint(name, columns)}")

    def _record_texts(self, record: Mapping[str, Any]) -> list[str]:
        names = record if self.fields is None else self.fields
        return [text for name in names for text in _texts_in(record[name])]


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a value.

    The texts of a list, such as answer options, are joined into one.
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts_in(inner)
    elif isinstance(value, list):
        plain = [item for item in value if isinstance(item, str)]
        if plain:
            yield "\n".join(plain)
        for item in value:
            if not isinstance(item, str):
                yield from _texts_in(item)
