"""Streaming deduplication: a stage that drops documents or lines it has seen before."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, InputError, ProcessingStage
from curator_core.errors import hint
from curator_core.model.resources import WorkerInfo

from curator_dedup.blooms.filters import GrowingFilter
from curator_dedup.digests import digests_of, normalized
from curator_dedup.kinds import wrong_kinds
from curator_dedup.mixing import Words
from curator_dedup.passages.spans import RepeatedSpan, spans_in, without
from curator_dedup.passages.windows import PassageRule, windows_of

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
        wrong = list(wrong_kinds(self))
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
                f"there is no memory for a filter of capacity {self.capacity:,}; give less, since "
                "it grows by itself, or a higher false_positive_rate"
            ) from None
        self._told: dict[str, bytes] = {}

    def teardown(self) -> None:
        self._filter = None

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        column = task.data.column(self.text_field)
        texts = [t if type(t) is str and not t.isspace() else "" for t in column.to_pylist()]
        if self.unit == "documents":
            yield from task.keep(self._new_documents(task.task_id, texts).tolist(), _REASON)
            return
        left = self._new_lines(task.task_id, texts)
        changed = column.to_pylist()
        for row, text in left.items():
            changed[row] = text
        place = task.data.column_names.index(self.text_field)
        fresh = pa.array(changed, column.type)
        table = task.data.set_column(place, task.data.schema.field(place), fresh)
        emptied = np.zeros(len(texts), np.bool_)
        emptied[[row for row, text in left.items() if not text.strip()]] = True
        yield from task.with_data(table).keep(pc.invert(pa.array(emptied)), _REASON)

    def _new_documents(self, task_id: str, texts: list[str]) -> npt.NDArray[np.bool_]:
        """Return which documents are new. Documents without text always are."""
        forms = normalized(texts) if self.normalize else texts
        has = np.array([bool(text) for text in texts], np.bool_)
        raw = digests_of((form or "").encode("utf-8", "surrogatepass") for form in forms)
        words = np.frombuffer(b"".join(raw), np.uint64).reshape(-1, 2)
        is_new = np.ones(len(texts), np.bool_)
        is_new[has] = self._taken(task_id, words[has])
        return is_new

    def _new_lines(self, task_id: str, texts: list[str]) -> dict[int, str]:
        """Return the remaining text of each row that has lines seen before."""
        windows = windows_of(texts, PassageRule("lines", 1, self.normalize))
        repeated = ~self._taken(task_id, windows.words())
        found: dict[int, list[RepeatedSpan]] = {}
        for row, span in spans_in(windows, repeated):
            found.setdefault(row, []).append(span)
        return {row: without(texts[row], spans) for row, spans in found.items()}

    def _taken(self, task_id: str, words: Words) -> npt.NDArray[np.bool_]:
        """Return which hashes are new. A retried task gets its first answer again: by then the
        filter contains its hashes."""
        before = self._told.get(task_id) if task_id else None
        if before is not None:
            return np.unpackbits(np.frombuffer(before, np.uint8), count=len(words)).astype(np.bool_)
        assert self._filter is not None
        is_new = self._filter.take(words)
        if task_id:
            self._told[task_id] = np.packbits(is_new).tobytes()
        return is_new
