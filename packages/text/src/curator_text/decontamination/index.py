"""Index: the n-grams of benchmarks, in files shared by all workers of a node.

Each file is memory-mapped, so that it is in memory once for any number of workers:

    hashes    hashes of the n-grams' beginnings, sorted
    starts    where each n-gram starts in `texts`
    ends      where it ends
    examples  the number of its example
    sieve     one byte per value of a hash's last bits: 0 if no n-gram has this value
    texts     the words of all examples, separated by spaces
    facts     everything else, as JSON

Words are runs of letters and digits, in Unicode's composed form (NFC), case-folded. Everything else
is a separator: punctuation, line breaks, the underscore. In scripts written without spaces, each
character is a word.
"""

import json
import mmap
import os
import re
import shutil
import tempfile
import unicodedata
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from curator_core import InputError
from curator_core.model.unicode import stream_safe

from curator_text.decontamination.benchmarks import BenchmarkExample

_MASK = (1 << 64) - 1
_SIEVE_BYTES_PER_NGRAM = 16


class Ngram(NamedTuple):
    """An n-gram of a benchmark, and the example that contains it."""

    benchmark: str
    example: str
    ngram: str


@dataclass(frozen=True)
class NgramIndexOptions:
    """Which n-grams of the examples to index."""

    size: int
    shortest: int
    max_examples: int | None
    ignored: tuple[str, ...] = ()


@dataclass
class IndexInfo:
    """Metadata of an index."""

    size: int
    """Number of words covered by an n-gram's hash, which is the length of the shortest n-gram."""
    ngrams: int = 0
    too_common: int = 0
    ignored: int = 0
    too_short: dict[str, int] = field(default_factory=dict)
    """By benchmark, the number of examples too short to index."""
    examples: list[tuple[str, str]] = field(default_factory=list)


class NgramIndex:
    """The n-grams of benchmarks, for lookup."""

    def __init__(self, folder: Path) -> None:
        raw = json.loads((folder / "facts").read_text())
        self.info = IndexInfo(**raw)
        self.size = self.info.size
        self.sieve = _map_file(folder / "sieve")
        self.mask = len(self.sieve) - 1
        self._hashes = _map_file(folder / "hashes").cast("Q")
        self._starts = _map_file(folder / "starts").cast("Q")
        self._ends = _map_file(folder / "ends").cast("Q")
        self._examples = _map_file(folder / "examples").cast("Q")
        self._texts = _map_file(folder / "texts")
        self._word_hashes = WordHashes()

    def find(self, words: list[str]) -> Iterator[tuple[int, int, int]]:
        """Yield each n-gram in a list of words.

        Yields its first word, the word after its last, and its number. Hashes only select
        candidates; the words themselves are compared.
        """
        hashes = hash_ngrams(self._word_hashes.of(words), self.size)
        sieve, mask = self.sieve, self.mask
        for position in [i for i, value in enumerate(hashes) if sieve[value & mask]]:
            for number in self._numbers_with_hash(hashes[position] & _MASK):
                text = self.ngram_text(number)
                end = position + text.count(" ") + 1
                if " ".join(words[position:end]) == text:
                    yield position, end, number

    def ngram(self, number: int) -> Ngram:
        benchmark, example = self.info.examples[self._examples[number]]
        return Ngram(benchmark, example, self.ngram_text(number))

    def benchmark_of(self, number: int) -> str:
        return self.info.examples[self._examples[number]][0]

    def ngram_text(self, number: int) -> str:
        return bytes(self._texts[self._starts[number] : self._ends[number]]).decode("utf-8")

    def _numbers_with_hash(self, value: int) -> Iterator[int]:
        position = bisect_left(self._hashes, value)
        while position < len(self._hashes) and self._hashes[position] == value:
            yield position
            position += 1


def _map_file(path: Path) -> memoryview:
    """Map a file into memory shared between processes. An empty file cannot be mapped."""
    if not path.stat().st_size:
        return memoryview(b"")
    with open(path, "rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def build_index(
    examples: Iterable[BenchmarkExample], options: NgramIndexOptions, folder: Path
) -> None:
    """Write an index atomically, unless it exists."""
    if folder.exists():
        return
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        _IndexBuilder(options).write(examples, temporary)
        os.rename(temporary, folder)
    except OSError:
        if not folder.exists():  # otherwise another process was faster
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


class _IndexBuilder:
    """Collects the n-grams of examples, 40 bytes each."""

    def __init__(self, options: NgramIndexOptions) -> None:
        self._options = options
        self._word_hashes = WordHashes()
        self._columns = {name: array("Q") for name in ("whole", "hash", "start", "end", "example")}
        self._texts = bytearray()
        self._info = IndexInfo(options.size)

    def write(self, examples: Iterable[BenchmarkExample], folder: Path) -> None:
        kept = [(example, words) for example in examples if (words := self._words(example))]
        if not kept:
            raise InputError(
                f"no benchmark example has {self._options.shortest} words, so nothing would be "
                "found; set fields or a smaller shortest"
            )
        self._info.size = min(min(len(words), self._options.size) for _, words in kept)
        for example, words in kept:
            self._add(example, words)
        table = self._choose_ngrams()
        self._info.ngrams = table.num_rows
        hashes = table["hash_min"].to_pylist()
        sieve = bytearray(1 << max(10, (_SIEVE_BYTES_PER_NGRAM * len(hashes)).bit_length()))
        for value in hashes:
            sieve[value & (len(sieve) - 1)] = 1
        for name, column in (("hashes", "hash_min"), ("starts", "start_min"), ("ends", "end_min"),
                             ("examples", "example_min")):  # fmt: skip
            (folder / name).write_bytes(array("Q", table[column].to_pylist()).tobytes())
        (folder / "sieve").write_bytes(sieve)
        (folder / "texts").write_bytes(self._texts)
        (folder / "facts").write_text(json.dumps(asdict(self._info)))

    def _words(self, example: BenchmarkExample) -> list[str]:
        words = split_words(normalize(example.text))
        if len(words) >= self._options.shortest:
            return words
        short = self._info.too_short
        short[example.benchmark] = short.get(example.benchmark, 0) + 1
        return []

    def _add(self, example: BenchmarkExample, words: list[str]) -> None:
        number = len(self._info.examples)
        self._info.examples.append((example.benchmark, example.name))
        size = min(len(words), self._options.size)
        numbers = self._word_hashes.of(words)
        starts, ends = self._append_texts(words)
        hashes = hash_ngrams(numbers, self._info.size)
        for position, whole in enumerate(hash_ngrams(numbers, size)):
            row = (whole, hashes[position], starts[position], ends[position + size - 1], number)
            for column, value in zip(self._columns.values(), row, strict=True):
                column.append(value & _MASK)

    def _append_texts(self, words: list[str]) -> tuple[list[int], list[int]]:
        starts, ends = [], []
        for word in words:
            starts.append(len(self._texts))
            self._texts += word.encode("utf-8", "replace")
            ends.append(len(self._texts))
            self._texts += b" "
        return starts, ends

    def _choose_ngrams(self) -> pa.Table:
        """Return each n-gram once, with its first position, without ignored and too common ones."""
        table = pa.table({name: _column(values) for name, values in self._columns.items()})
        grouped = table.group_by("whole").aggregate(
            [(name, "min") for name in ("hash", "start", "end", "example")]
            + [("example", "count_distinct")]
        )
        ignored = self._find_ignored()
        counts = grouped["example_count_distinct"].to_pylist()
        max_examples = self._options.max_examples
        mask = []
        for whole, count in zip(grouped["whole"].to_pylist(), counts, strict=True):
            too_common = max_examples is not None and count > max_examples
            self._info.too_common += too_common
            self._info.ignored += whole in ignored
            mask.append(not too_common and whole not in ignored)
        return grouped.filter(pa.array(mask, pa.bool_())).sort_by("hash_min")

    def _find_ignored(self) -> set[int]:
        """Return the n-grams of the ignored texts, in every length that is indexed."""
        found: set[int] = set()
        for text in self._options.ignored:
            numbers = self._word_hashes.of(split_words(normalize(text)))
            for size in range(self._info.size, self._options.size + 1):
                found.update(value & _MASK for value in hash_ngrams(numbers, size))
        return found


def _column(values: "array[int]") -> Any:
    return pa.Array.from_buffers(pa.uint64(), len(values), [None, pa.py_buffer(values.tobytes())])


@dataclass(frozen=True)
class Match:
    """The benchmark text found in a document."""

    text: str
    """The normalized text, to which positions refer."""
    words: int
    stretches: tuple[tuple[int, int], ...]
    """First word of each stretch and the word after its last. Stretches never touch."""
    ngrams: tuple[Ngram, ...]
    benchmark: str
    """The benchmark with the most matching n-grams."""

    @property
    def share(self) -> float:
        """Return the share of words that are benchmark text."""
        return sum(end - start for start, end in self.stretches) / self.words

    def spans(self) -> list[tuple[int, int]]:
        """Return the stretches as character ranges."""
        spans = find_word_spans(self.text)
        return [(spans[start][0], spans[end - 1][1]) for start, end in self.stretches]


def find_match(text: str, index: NgramIndex, max_ngrams: int) -> Match | None:
    """Return what a text shares with benchmarks, with up to `max_ngrams` n-grams as evidence."""
    text = normalize(text)
    words = split_words(text)
    if len(words) < index.size:
        return None
    found = list(index.find(words))
    if not found:
        return None
    stretches: list[tuple[int, int]] = []
    for start, end, _ in found:
        if stretches and start <= stretches[-1][1]:
            first, last = stretches[-1]
            stretches[-1] = (first, max(last, end))
        else:
            stretches.append((start, end))
    counts = Counter(index.benchmark_of(number) for _, _, number in found)
    ngrams = tuple(index.ngram(number) for _, _, number in found[:max_ngrams])
    [(benchmark, _)] = counts.most_common(1)
    return Match(text, len(words), tuple(stretches), ngrams, benchmark)


_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_MAX_CACHED_WORDS = 500_000


def normalize(text: str) -> str:
    """Normalize a text so that its words can be compared."""
    if text.isascii():
        return text
    safe = stream_safe(text)
    return safe if unicodedata.is_normalized("NFC", safe) else unicodedata.normalize("NFC", safe)


def split_words(text: str) -> list[str]:
    """Return the words of a normalized text, case-folded."""
    return [word.casefold() for word in _WORD.findall(text)]


def find_word_spans(text: str) -> list[tuple[int, int]]:
    """Return the character range of each word."""
    return [found.span() for found in _WORD.finditer(text)]


class WordHashes(dict[str, int]):
    """Maps each word to a 60-bit number that is the same in every process."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _MAX_CACHED_WORDS:
            self.clear()
        digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self[word] = number = int.from_bytes(digest, "little") >> 4
        return number

    def of(self, words: list[str]) -> list[int]:
        return list(map(self.__getitem__, words))


def hash_ngrams(numbers: list[int], size: int) -> "list[int]":
    """Return a 64-bit hash for each n-gram of this size.

    Unlike strings, tuples of numbers hash the same in all processes of one Python version.
    """
    return list(map(hash, zip(*(numbers[start:] for start in range(size)), strict=False)))
