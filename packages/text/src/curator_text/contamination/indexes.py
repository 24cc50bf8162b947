"""Indexes: the n-grams of benchmarks, in files shared by all workers of a node.

Each file is memory-mapped, so that it is in memory once for any number of workers:

    hashes    hashes of the n-grams' beginnings, sorted
    starts    where each n-gram starts in `texts`
    ends      where it ends
    examples  the number of its example
    sieve     one byte per value of a hash's last bits: 0 if no n-gram has this value
    texts     the words of all examples, separated by spaces
    facts     everything else, as JSON
"""

import json
import mmap
import os
import shutil
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from curator_core import InputError

from curator_text.contamination.benchmarks import Example
from curator_text.contamination.wording import WordNumbers, composed, rolling, words_of

_MASK = (1 << 64) - 1
_SIEVE_PER_GRAM = 16


class Gram(NamedTuple):
    """An n-gram of a benchmark, and the example that contains it."""

    benchmark: str
    example: str
    ngram: str


@dataclass(frozen=True)
class GramOptions:
    """Which n-grams of the examples to index."""

    size: int
    shortest: int
    max_examples: int | None
    ignored: tuple[str, ...] = ()


@dataclass
class Facts:
    """Metadata of an index."""

    size: int
    """Number of words covered by an n-gram's hash, which is the length of the shortest n-gram."""
    grams: int = 0
    too_common: int = 0
    ignored: int = 0
    too_short: dict[str, int] = field(default_factory=dict)
    """By benchmark, the number of examples too short to index."""
    examples: list[tuple[str, str]] = field(default_factory=list)


class Index:
    """The n-grams of benchmarks, for lookup."""

    def __init__(self, folder: Path) -> None:
        raw = json.loads((folder / "facts").read_text())
        self.facts = Facts(**raw)
        self.size = self.facts.size
        self.sieve = _mapped(folder / "sieve")
        self.mask = len(self.sieve) - 1
        self._hashes = _mapped(folder / "hashes").cast("Q")
        self._starts = _mapped(folder / "starts").cast("Q")
        self._ends = _mapped(folder / "ends").cast("Q")
        self._examples = _mapped(folder / "examples").cast("Q")
        self._texts = _mapped(folder / "texts")
        self._numbers = WordNumbers()

    def found_in(self, words: list[str]) -> Iterator[tuple[int, int, int]]:
        """Yield each n-gram in a list of words.

        Yields its first word, the word after its last, and its number. Hashes only select
        candidates; the words themselves are compared.
        """
        hashes = rolling(self._numbers.of(words), self.size)
        sieve, mask = self.sieve, self.mask
        for place in [i for i, value in enumerate(hashes) if sieve[value & mask]]:
            for number in self._with_hash(hashes[place] & _MASK):
                text = self.text_of(number)
                end = place + text.count(" ") + 1
                if " ".join(words[place:end]) == text:
                    yield place, end, number

    def gram(self, number: int) -> Gram:
        benchmark, example = self.facts.examples[self._examples[number]]
        return Gram(benchmark, example, self.text_of(number))

    def benchmark_of(self, number: int) -> str:
        return self.facts.examples[self._examples[number]][0]

    def text_of(self, number: int) -> str:
        return bytes(self._texts[self._starts[number] : self._ends[number]]).decode("utf-8")

    def _with_hash(self, wanted: int) -> Iterator[int]:
        place = bisect_left(self._hashes, wanted)
        while place < len(self._hashes) and self._hashes[place] == wanted:
            yield place
            place += 1


def _mapped(path: Path) -> memoryview:
    """Map a file into memory shared between processes. An empty file cannot be mapped."""
    if not path.stat().st_size:
        return memoryview(b"")
    with open(path, "rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def build(examples: Iterable[Example], options: GramOptions, folder: Path) -> None:
    """Write an index atomically, unless it exists."""
    if folder.exists():
        return
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        _Builder(options).write(examples, draft)
        os.rename(draft, folder)
    except OSError:
        if not folder.exists():  # otherwise another process was faster
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


class _Builder:
    """Collects the n-grams of examples, 40 bytes each."""

    def __init__(self, options: GramOptions) -> None:
        self._options = options
        self._numbers = WordNumbers()
        self._columns = {name: array("Q") for name in ("whole", "hash", "start", "end", "example")}
        self._texts = bytearray()
        self._facts = Facts(options.size)

    def write(self, examples: Iterable[Example], folder: Path) -> None:
        kept = [(example, words) for example in examples if (words := self._words(example))]
        if not kept:
            raise InputError(
                f"no example of the benchmarks has {self._options.shortest} words, so nothing "
                "would be found; set fields or a smaller shortest"
            )
        self._facts.size = min(min(len(words), self._options.size) for _, words in kept)
        for example, words in kept:
            self._add(example, words)
        table = self._chosen()
        self._facts.grams = table.num_rows
        hashes = table["hash_min"].to_pylist()
        sieve = bytearray(1 << max(10, (_SIEVE_PER_GRAM * len(hashes)).bit_length()))
        for value in hashes:
            sieve[value & (len(sieve) - 1)] = 1
        for name, column in (("hashes", "hash_min"), ("starts", "start_min"), ("ends", "end_min"),
                             ("examples", "example_min")):  # fmt: skip
            (folder / name).write_bytes(array("Q", table[column].to_pylist()).tobytes())
        (folder / "sieve").write_bytes(sieve)
        (folder / "texts").write_bytes(self._texts)
        (folder / "facts").write_text(json.dumps(asdict(self._facts)))

    def _words(self, example: Example) -> list[str]:
        words = words_of(composed(example.text))
        if len(words) >= self._options.shortest:
            return words
        short = self._facts.too_short
        short[example.benchmark] = short.get(example.benchmark, 0) + 1
        return []

    def _add(self, example: Example, words: list[str]) -> None:
        number = len(self._facts.examples)
        self._facts.examples.append((example.benchmark, example.name))
        size = min(len(words), self._options.size)
        numbers = self._numbers.of(words)
        starts, ends = self._places(words)
        hashes = rolling(numbers, self._facts.size)
        for place, whole in enumerate(rolling(numbers, size)):
            row = (whole, hashes[place], starts[place], ends[place + size - 1], number)
            for column, value in zip(self._columns.values(), row, strict=True):
                column.append(value & _MASK)

    def _places(self, words: list[str]) -> tuple[list[int], list[int]]:
        starts, ends = [], []
        for word in words:
            starts.append(len(self._texts))
            self._texts += word.encode("utf-8", "replace")
            ends.append(len(self._texts))
            self._texts += b" "
        return starts, ends

    def _chosen(self) -> pa.Table:
        """Return each n-gram once, with its first position, without ignored and too common ones."""
        table = pa.table({name: _column(values) for name, values in self._columns.items()})
        grouped = table.group_by("whole").aggregate(
            [(name, "min") for name in ("hash", "start", "end", "example")]
            + [("example", "count_distinct")]
        )
        ignored = self._ignored()
        counts = grouped["example_count_distinct"].to_pylist()
        most = self._options.max_examples
        mask = []
        for whole, count in zip(grouped["whole"].to_pylist(), counts, strict=True):
            too_common = most is not None and count > most
            self._facts.too_common += too_common
            self._facts.ignored += whole in ignored
            mask.append(not too_common and whole not in ignored)
        return grouped.filter(pa.array(mask, pa.bool_())).sort_by("hash_min")

    def _ignored(self) -> set[int]:
        """Return the n-grams of the ignored texts, in every length that is indexed."""
        found: set[int] = set()
        for text in self._options.ignored:
            numbers = self._numbers.of(words_of(composed(text)))
            for size in range(self._facts.size, self._options.size + 1):
                found.update(value & _MASK for value in rolling(numbers, size))
        return found


def _column(values: "array[int]") -> Any:
    return pa.Array.from_buffers(pa.uint64(), len(values), [None, pa.py_buffer(values.tobytes())])
