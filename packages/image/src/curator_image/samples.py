"""Samples: an image with its key and sidecars, and tables of samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias, get_args

import orjson
import pyarrow as pa
from curator_core.io.readers.tables import columns_of, table_of
from curator_core.model.arrow import json_field
from curator_core.model.tasks import Rejected

from curator_image.batches import EXTENSION, IMAGE, KEY, OWN_COLUMNS, SOURCE
from curator_image.decoding import Encoded
from curator_image.endings import HEAD, is_text, last_part, mismatch
from curator_image.extents import Extent
from curator_image.sidecars import told

WrongExtension: TypeAlias = Literal["quarantine", "keep"]
_JSON = "json"

WRONG_EXTENSION: tuple[str, ...] = get_args(WrongExtension)


class Sample(NamedTuple):
    """An image and the sidecar files with the same key, by extension."""

    key: str
    image: Encoded | Extent
    extension: str
    source: str
    sidecars: Mapping[str, bytes] = MappingProxyType({})

    @property
    def size(self) -> int:
        return len(self.image) + sum(map(len, self.sidecars.values()))

    @property
    def head(self) -> Encoded:
        """The first bytes of the image."""
        return self.image.head if isinstance(self.image, Extent) else self.image[:HEAD]

    @property
    def place(self) -> str:
        return f"{self.source} key {self.key!r}"


@dataclass(frozen=True)
class Demands:
    """Requirements for samples."""

    required: tuple[str, ...] = ()
    wrong_extension: WrongExtension = "quarantine"
    json: bool = False

    def unmet(self, sample: Sample) -> str | None:
        """Return what is wrong with a sample, as far as can be checked without decoding."""
        head = sample.head
        if not head:
            return "the image has no bytes at all"
        if self.wrong_extension == "quarantine":
            reason = mismatch(sample.extension, head)
            if reason:
                return f"{reason}; rename it, or set wrong_extension: keep"
        for ending in self.required:
            if ending not in sample.sidecars:
                return f"it has no .{ending} beside it"
        return _not_text(sample.sidecars) or (_not_json(sample) if self.json else None)


def _not_text(sidecars: Mapping[str, bytes]) -> str | None:
    for ending, data in sidecars.items():
        if not data.isascii() and is_text(ending):
            try:
                data.decode()
            except UnicodeDecodeError as error:
                return f"its .{ending} is not UTF-8: 0x{data[error.start]:02x} at {error.start}"
    return None


def _not_json(sample: Sample) -> str | None:
    data = sample.sidecars.get(_JSON)
    try:
        found = {} if data is None else orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return f"its .json is no JSON: {error.msg} at {error.pos}"
    return None if isinstance(found, dict) else "its .json is no JSON object"


def rejected(sample: Sample, reason: str) -> Rejected:
    return Rejected(reason, sample.place, payload=bytes(sample.image))


def column_of(ending: str) -> str:
    """Return the column of a sidecar, renamed if it clashes with a batch's own columns."""
    return f"{ending}_file" if ending in OWN_COLUMNS else ending


def sample_table(samples: Sequence[Sample]) -> pa.Table:
    """Return a table with a row for each sample and a column for each sidecar extension."""
    endings = sorted(set().union(*(sample.sidecars for sample in samples)))
    fields = [pa.field(KEY, pa.string()), pa.field(IMAGE, pa.binary()),
              pa.field(EXTENSION, pa.string()), pa.field(SOURCE, pa.string())]  # fmt: skip
    arrays = [
        pa.array([sample.key for sample in samples], pa.string()),
        binary_array([sample.image for sample in samples]),
        pa.array([sample.extension for sample in samples], pa.string()),
        pa.array([sample.source for sample in samples], pa.string()),
    ]
    for ending in endings:
        fields.append(_field(ending))
        values = [sample.sidecars.get(ending) for sample in samples]
        arrays.append(pa.array(values, pa.binary()).cast(fields[-1].type))
    known = told({column_of(ending): ending for ending in endings})
    return pa.table(arrays, schema=pa.schema(fields, known))


def _field(ending: str) -> pa.Field:
    name = column_of(ending)
    if last_part(ending) == "json":
        return json_field(name)
    return pa.field(name, pa.string() if is_text(ending) else pa.binary())


def with_json_fields(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Add columns for values in the sidecar JSON, with inferred types."""
    texts = table.column(_JSON).to_pylist() if _JSON in table.column_names else []
    records = [orjson.loads(text) if text else {} for text in texts] or [{}] * table.num_rows
    found = table_of([columns_of(records, names)])
    for name in names:
        known = f"{name}_json" if name in table.column_names else name
        table = table.append_column(found.schema.field(name).with_name(known), found.column(name))
    return table


def chosen_columns(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Select these columns; missing ones are filled with nulls."""
    for name in names:
        if name not in table.column_names:
            kind = _field(name)
            table = table.append_column(kind, pa.nulls(table.num_rows, kind.type))
    return table.select(list(names))


def binary_array(values: Sequence[Encoded | Extent]) -> pa.Array:
    """Return bytes as a column, with a single copy."""
    offsets = [0]
    for value in values:
        offsets.append(offsets[-1] + len(value))
    joined = pa.allocate_buffer(offsets[-1])  # from a pool that reuses memory
    room = memoryview(joined).cast("B")
    for start, value in zip(offsets, values, strict=False):
        if isinstance(value, Extent):
            value.read_into(room[start : start + len(value)])
        else:
            room[start : start + len(value)] = value
    ends = pa.array(offsets, pa.int32()).buffers()[1]
    return pa.Array.from_buffers(pa.binary(), len(values), [None, ends, joined])
