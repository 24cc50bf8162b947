"""Find and remove repeated passages in one call: runs of words, sentences, or lines."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from curator_core import Pipeline, WorkflowResult
from curator_core.io.shuffle import ExchangeReader

from curator_dedup.blocks import block_id
from curator_dedup.corpora import CorpusWorkflow, partitions_for
from curator_dedup.counting import counts_in
from curator_dedup.passages.anchoring import AnchorCollecting, AnchorCounting
from curator_dedup.passages.collecting import PassageCollecting
from curator_dedup.passages.deciding import RepeatDeciding, times_in
from curator_dedup.passages.removing import SPANS, PassageRemoving
from curator_dedup.passages.spans import KeepPassages
from curator_dedup.passages.tallying import Tally, tallied
from curator_dedup.passages.windows import PassageRule

if TYPE_CHECKING:
    from curator_dedup.reporting.writing import Told

_PARTITION_BYTES = 1 << 28
"""Bytes of input per partition of hashes."""


@dataclass
class PassageWorkflow(CorpusWorkflow):
    """Base of the workflows for passages of all kinds.

    Of equal passages the first is the one with the lowest path, row and position in the text, on
    every executor and for any division into blocks.
    """

    text_field: str = "text"
    """Field with the text."""

    keep: KeepPassages = "first"
    """Which occurrences of a repeated passage to keep: the first, none, or all of them, with the
    later ones marked."""

    min_count: int = 2
    """Minimum number of occurrences in the corpus for a passage to count as repeated."""

    min_words: int = 0
    """Minimum number of words left in a document after passages are removed. Documents with fewer,
    or without any, are dropped."""

    @property
    @abstractmethod
    def rule(self) -> PassageRule:
        """The definition of a passage."""

    @property
    def named_fields(self) -> Mapping[str, str | None]:
        return {"text_field": self.text_field}

    @property
    def choices(self) -> Mapping[str, Sequence[Any]]:
        return {**super().choices, "keep": get_args(KeepPassages)}

    @property
    def columns_to_add(self) -> Sequence[str]:
        return (SPANS,) if self.keep == "mark" else ()

    def check(self) -> Iterable[str]:
        yield from super().check()
        if self.min_count < 2:
            yield f"min_count is {self.min_count}, but what stands once is not repeated: 2 or more"
        if self.min_words < 0:
            yield f"min_words is {self.min_words}, but must be 0 or more"

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        files = self.listing().files()
        size = sum(file.size for file in files)
        partitions = self.partitions or partitions_for(size, _PARTITION_BYTES)
        if self.rule.is_anchored:
            yield self._anchoring(partitions)
            yield self._counting(partitions)
        yield self._collecting(partitions)
        self.refuse_unread(result, "collect")
        self.refuse_lacking("passages")
        yield self._deciding(partitions)
        self.refuse_changed(files)
        yield self._removing(partitions)
        result.metadata |= self._counts()

    def _anchoring(self, partitions: int) -> Pipeline:
        collecting = AnchorCollecting(self.text_field, self.rule, self.storage)
        writer = self.exchange("anchors", "anchor", partitions, hashed=True)
        return self.later("anchor", [self.listing(), collecting, writer])

    def _counting(self, partitions: int) -> Pipeline:
        reader = ExchangeReader(self.folder("anchors"), partitions, storage_options=self.storage)
        writer = self.exchange("candidates", "block", partitions)
        return self.later("count", [reader, AnchorCounting(), writer])

    def _collecting(self, partitions: int) -> Pipeline:
        listing = self.listing()
        if self.rule.is_anchored:
            listing = self.decided_listing("candidates", partitions)
        collecting = PassageCollecting(self.text_field, self.rule, partitions, self.storage)
        writer = self.exchange("passages", "hash", partitions, hashed=True)
        return Pipeline("collect", stages=[listing, collecting, writer])

    def _deciding(self, partitions: int) -> Pipeline:
        reader = ExchangeReader(self.folder("passages"), partitions, storage_options=self.storage)
        writer = self.exchange("repeats", "block", partitions)
        return self.later("decide", [reader, RepeatDeciding(self.min_count), writer])

    def _removing(self, partitions: int) -> Pipeline:
        removing = PassageRemoving(
            self.rule, partitions, self.text_field, self.keep, self.min_words,
            self.output_format, self.folder("tallies"), self.storage,
        )  # fmt: skip
        return self.writing(removing, "repeats", partitions)

    def _counts(self) -> dict[str, int]:
        collected = counts_in(self.folder("passages"), self.storage)
        decided = counts_in(self.folder("repeats"), self.storage)
        names = ("documents", "empty", "no_records", "repeated", "occurrences")
        counts = {name: collected[name] + decided[name] for name in names}
        totals = self._tally().totals
        return {
            **counts,
            "changed": totals["changed"],
            "repeated_characters": totals["characters"],
            "emptied": totals["emptied"],
        }

    def _tally(self) -> Tally:
        blocks = [block_id(parts) for parts in self.listing().blocks()]
        return tallied(self.folder("tallies"), blocks, self.storage)

    def told(self, result: WorkflowResult) -> "tuple[Told, str]":
        from curator_dedup.reporting.passage_pages import render
        from curator_dedup.reporting.passages import PassageSummary, shown_of

        tally = self._tally()
        decided = counts_in(self.folder("repeats"), self.storage)
        summary = PassageSummary(
            name=self.name,
            verb="marked" if self.keep == "mark" else "cut out",
            counts=result.metadata,
            files=tally.files,
            times=times_in(decided),
            shown=shown_of(tally, self.text_field, self.storage),
        )
        return summary, render(summary)


@dataclass
class SubstringDeduplicationWorkflow(PassageWorkflow):
    """Find long runs of words that are repeated, and cut out all but the first.

    A run has `min_tokens` tokens or more, and may be repeated within one document or across
    several.
    """

    min_tokens: int = 50
    """Number of consecutive tokens that must be equal."""

    token: Literal["words", "characters"] = "words"
    """What a token is: a word between spaces, or each character except spaces, for languages that
    are written without spaces."""

    normalize: bool = False
    """Ignore case, spaces, punctuation and symbols when comparing."""

    name: ClassVar[str] = "substring_deduplication"

    @property
    def rule(self) -> PassageRule:
        return PassageRule(self.token, self.min_tokens, self.normalize)

    @property
    def choices(self) -> Mapping[str, Sequence[Any]]:
        return {**super().choices, "token": ("words", "characters")}

    def check(self) -> Iterable[str]:
        yield from super().check()
        if self.min_tokens < 1:
            yield f"min_tokens is {self.min_tokens}, but must be 1 or more"


@dataclass
class SentenceDeduplicationWorkflow(PassageWorkflow):
    """Find runs of sentences that are repeated, and cut out all but the first.

    A sentence ends at the end of a line, or at . ! ? or an ellipsis before a space, optionally with
    closing quotation marks and brackets in between; the wide marks of Chinese and Japanese end it
    without a space.
    """

    sentences: int = 3
    """Number of consecutive sentences that must be equal."""

    normalize: bool = True
    """Ignore case, spaces, punctuation and symbols when comparing."""

    name: ClassVar[str] = "sentence_deduplication"

    @property
    def rule(self) -> PassageRule:
        return PassageRule("sentences", self.sentences, self.normalize)

    def check(self) -> Iterable[str]:
        yield from super().check()
        if self.sentences < 1:
            yield f"sentences is {self.sentences}, but must be 1 or more"


@dataclass
class LineDeduplicationWorkflow(PassageWorkflow):
    """Find lines that are repeated in the corpus, and cut out all but the first.

    `min_count` sets how often a line must occur; `keep="none"` cuts out the first one too.
    """

    normalize: bool = True
    """Ignore case, spaces, punctuation and symbols when comparing."""

    name: ClassVar[str] = "line_deduplication"

    @property
    def rule(self) -> PassageRule:
        return PassageRule("lines", 1, self.normalize)
