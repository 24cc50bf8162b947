"""Bloom filters: streaming deduplication in one pass, with little memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, log, log2
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, InputError, ProcessingStage, WorkerInfo
from curator_core.errors import hint

from curator_dedup.hashing import U64Array, normalized, text_hashes
from curator_dedup.option_checks import wrong_types
from curator_dedup.passages.spans import RepeatedSpan, cut_spans, find_spans
from curator_dedup.passages.windows import PassageRule, find_windows

_ONE = np.uint8(1)


class BloomFilter:
    """A set of about `capacity` 128-bit hashes with false-positive rate `rate`."""

    def __init__(self, capacity: int, rate: float) -> None:
        self.capacity = capacity
        self.count = 0
        size = ceil(-capacity * log(rate) / log(2) ** 2)
        self._hashes = max(1, ceil(-log2(rate)))
        self._bits = np.zeros(size // 8 + 1, np.uint8)

    @property
    def num_bytes(self) -> int:
        return int(self._bits.nbytes)

    def has(self, hashes: U64Array) -> npt.NDArray[np.bool_]:
        places = self._places(hashes)
        found = (self._bits[places >> np.uint64(3)] >> (places & np.uint64(7)).astype(np.uint8)) & 1
        return np.asarray(found.all(axis=1))

    def add(self, hashes: U64Array) -> None:
        places = self._places(hashes).reshape(-1)
        bits = np.left_shift(_ONE, (places & np.uint64(7)).astype(np.uint8))
        np.bitwise_or.at(self._bits, places >> np.uint64(3), bits)
        self.count += len(hashes)

    def _places(self, hashes: U64Array) -> U64Array:
        steps = np.arange(self._hashes, dtype=np.uint64)
        positions = hashes[:, :1] + steps * (hashes[:, 1:] | np.uint64(1))
        return np.asarray(positions % np.uint64(len(self._bits) * 8))


class GrowingFilter:
    """A Bloom filter without a fixed capacity.

    When a filter is full, one is added that is twice as large and has half the error rate. The
    combined rate stays below `rate` for any number of hashes.
    """

    def __init__(self, capacity: int, rate: float) -> None:
        self._rate = rate / 2
        self._filters = [BloomFilter(capacity, self._rate)]

    @property
    def num_bytes(self) -> int:
        return sum(one.num_bytes for one in self._filters)

    def add_new(self, hashes: U64Array) -> npt.NDArray[np.bool_]:
        """Add hashes and return which are new. Of equal hashes only the first is new."""
        firsts = np.sort(np.unique(hashes, axis=0, return_index=True)[1])
        seen = np.zeros(len(firsts), np.bool_)
        for one in self._filters:
            seen |= one.has(hashes[firsts])
        fresh = firsts[~seen]
        self._add(hashes[fresh])
        is_new = np.zeros(len(hashes), np.bool_)
        is_new[fresh] = True
        return is_new

    def _add(self, hashes: U64Array) -> None:
        while len(hashes):
            last = self._filters[-1]
            room = last.capacity - last.count
            last.add(hashes[:room])
            hashes = hashes[room:]
            if len(hashes):
                self._rate /= 2
                self._filters.append(BloomFilter(2 * last.capacity, self._rate))


BloomUnit: TypeAlias = Literal["documents", "lines"]

_REASON = "seen before"


@dataclass
class BloomDeduplication(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Drop documents, or cut out lines, that were seen before, in one pass.

    The stage runs in one worker, which holds the filter. Which of several equal documents comes
    first depends on the order of arrival. The filter is lost with its worker: after a crash or when
    a run is resumed, some duplicates of earlier documents get through. A retry never drops a
    document as a duplicate of itself.
    """

    text_field: str = "text"
    """Field to compare."""

    unit: BloomUnit = "documents"
    """What to compare: whole documents, or each of their lines."""

    normalize: bool = False
    """Ignore case and whitespace; for lines, also punctuation and symbols."""

    false_positive_rate: float = 1e-6
    """Maximum probability that new text is taken for a duplicate."""

    capacity: int = 10_000_000
    """Expected number of distinct documents or lines; the filter grows beyond that."""

    name = "bloom_deduplication"
    fans_out = False

    _filter: GrowingFilter | None = field(default=None, init=False, repr=False, compare=False)

    def check(self) -> Iterator[str]:
        wrong = list(wrong_types(self))
        yield from wrong or self._wrong_values()

    def _wrong_values(self) -> Iterator[str]:
        if not self.text_field:
            yield "text_field is empty; name the field"
        if self.unit not in get_args(BloomUnit):
            yield f"unit is {self.unit!r}{hint(str(self.unit), get_args(BloomUnit))}"
        if not 0 < self.false_positive_rate < 1:
            yield (
                f"false_positive_rate is {self.false_positive_rate}, but must be between 0 and 1"
            )
        if self.capacity < 1:
            yield f"capacity is {self.capacity}, but must be 1 or more"

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def num_workers(self) -> int:
        return 1

    def setup(self, worker: WorkerInfo) -> None:
        try:
            self._filter = GrowingFilter(self.capacity, self.false_positive_rate)
        except MemoryError:
            raise InputError(
                f"not enough memory for a filter of capacity {self.capacity:,}; set a lower "
                "capacity, since the filter grows, or a higher false_positive_rate"
            ) from None
        self._answers: dict[str, bytes] = {}

    def teardown(self) -> None:
        self._filter = None

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        column = task.data.column(self.text_field)
        texts = [t if type(t) is str and not t.isspace() else "" for t in column.to_pylist()]
        if self.unit == "documents":
            yield from task.keep(self._new_documents(task.task_id, texts).tolist(), _REASON)
            return
        remaining = self._new_lines(task.task_id, texts)
        changed = column.to_pylist()
        for row, text in remaining.items():
            changed[row] = text
        place = task.data.column_names.index(self.text_field)
        new_column = pa.array(changed, column.type)
        table = task.data.set_column(place, task.data.schema.field(place), new_column)
        emptied = np.zeros(len(texts), np.bool_)
        emptied[[row for row, text in remaining.items() if not text.strip()]] = True
        yield from task.with_data(table).keep(pc.invert(pa.array(emptied)), _REASON)

    def _new_documents(self, task_id: str, texts: list[str]) -> npt.NDArray[np.bool_]:
        """Return which documents are new. Documents without text always are."""
        forms = normalized(texts) if self.normalize else texts
        has_text = np.array([bool(text) for text in texts], np.bool_)
        hashes = text_hashes((form or "").encode("utf-8", "surrogatepass") for form in forms)
        is_new = np.ones(len(texts), np.bool_)
        is_new[has_text] = self._are_new(task_id, hashes[has_text])
        return is_new

    def _new_lines(self, task_id: str, texts: list[str]) -> dict[int, str]:
        """Return the remaining text of each row that has lines seen before."""
        windows = find_windows(texts, PassageRule("lines", 1, self.normalize))
        repeated = ~self._are_new(task_id, windows.hashes())
        found: dict[int, list[RepeatedSpan]] = {}
        for row, span in find_spans(windows, repeated):
            found.setdefault(row, []).append(span)
        return {row: cut_spans(texts[row], spans) for row, spans in found.items()}

    def _are_new(self, task_id: str, hashes: U64Array) -> npt.NDArray[np.bool_]:
        """Return which hashes are new. A retried task gets its first answer again: by then the
        filter contains its hashes."""
        previous = self._answers.get(task_id) if task_id else None
        if previous is not None:
            return np.unpackbits(np.frombuffer(previous, np.uint8), count=len(hashes)).astype(
                np.bool_
            )
        assert self._filter is not None
        is_new = self._filter.add_new(hashes)
        if task_id:
            self._answers[task_id] = np.packbits(is_new).tobytes()
        return is_new
