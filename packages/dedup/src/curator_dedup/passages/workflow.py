"""Find and remove repeated passages in one call: runs of words, sentences, or lines."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from curator_core import Pipeline, WorkflowResult
from curator_core.io.shuffle import ExchangeReader

from curator_dedup.intermediate_files import counts_in
from curator_dedup.option_checks import too_small
from curator_dedup.passages.remove import (
    SPANS,
    PassageCounts,
    PassageRemoving,
    read_passage_counts,
)
from curator_dedup.passages.repeats import (
    AnchorCollecting,
    AnchorCounting,
    PassageCollecting,
    RepeatDeciding,
    times_in,
)
from curator_dedup.passages.spans import KeepPassages
from curator_dedup.passages.windows import PassageRule
from curator_dedup.passes.list import block_id
from curator_dedup.workflow import DocumentWorkflow, partitions_for

if TYPE_CHECKING:
    from curator_dedup.report.files import ReportData

_PARTITION_BYTES = 1 << 28
"""Bytes of input per partition of hashes."""


@dataclass
class PassageWorkflow(DocumentWorkflow):
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
    def field_options(self) -> Mapping[str, str | None]:
        return {"text_field": self.text_field}

    @property
    def allowed_values(self) -> Mapping[str, Sequence[Any]]:
        return {**super().allowed_values, "keep": get_args(KeepPassages)}

    @property
    def columns_to_add(self) -> Sequence[str]:
        return (SPANS,) if self.keep == "mark" else ()

    def check(self) -> Iterable[str]:
        yield from super().check()
        if self.min_count < 2:
            yield f"min_count is {self.min_count}, but must be 2 or more"
        yield from too_small(self, ["min_words"], 0)

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        files = self.listing().files()
        size = sum(file.size for file in files)
        partitions = self.partitions or partitions_for(size, _PARTITION_BYTES)
        if self.rule.is_anchored:
            yield self._collect_anchors(partitions)
            yield self._count_anchors(partitions)
        yield self._collect(partitions)
        self.refuse_unreadable_files(result, "collect")
        self.check_missing_fields("passages")
        yield self._decide(partitions)
        self.refuse_changed_input(files)
        yield self._remove(partitions)
        result.metadata |= self._counts()

    def _collect_anchors(self, partitions: int) -> Pipeline:
        collecting = AnchorCollecting(self.text_field, self.rule, self.storage)
        writer = self.exchange("anchors", "anchor", partitions, hashed=True)
        return self.intermediate_pipeline("anchor", [self.listing(), collecting, writer])

    def _count_anchors(self, partitions: int) -> Pipeline:
        reader = ExchangeReader(self.folder("anchors"), partitions, storage_options=self.storage)
        writer = self.exchange("candidates", "block", partitions)
        return self.intermediate_pipeline("count", [reader, AnchorCounting(), writer])

    def _collect(self, partitions: int) -> Pipeline:
        listing = self.listing()
        if self.rule.is_anchored:
            listing = self.listing_with_decisions("candidates", partitions)
        collecting = PassageCollecting(self.text_field, self.rule, partitions, self.storage)
        writer = self.exchange("passages", "hash", partitions, hashed=True)
        return Pipeline("collect", stages=[listing, collecting, writer])

    def _decide(self, partitions: int) -> Pipeline:
        reader = ExchangeReader(self.folder("passages"), partitions, storage_options=self.storage)
        writer = self.exchange("repeats", "block", partitions)
        return self.intermediate_pipeline(
            "decide", [reader, RepeatDeciding(self.min_count), writer]
        )

    def _remove(self, partitions: int) -> Pipeline:
        removing = PassageRemoving(
            self.rule, partitions, self.text_field, self.keep, self.min_words,
            self.output_format, self.folder("tallies"), self.storage,
        )  # fmt: skip
        return self.removal_pipeline(removing, "repeats", partitions)

    def _counts(self) -> dict[str, int]:
        collected = counts_in(self.folder("passages"), self.storage)
        repeats = counts_in(self.folder("repeats"), self.storage)
        names = ("documents", "empty", "no_records", "repeated", "occurrences")
        counts = {name: collected[name] + repeats[name] for name in names}
        totals = self._passage_counts().totals
        return {
            **counts,
            "changed": totals["changed"],
            "repeated_characters": totals["characters"],
            "emptied": totals["emptied"],
        }

    def _passage_counts(self) -> PassageCounts:
        blocks = [block_id(parts) for parts in self.listing().blocks()]
        return read_passage_counts(self.folder("tallies"), blocks, self.storage)

    def render_report(self, result: WorkflowResult) -> "tuple[ReportData, str]":
        from curator_dedup.report.passages import PassageSummary, choose_examples, render

        passages = self._passage_counts()
        repeats = counts_in(self.folder("repeats"), self.storage)
        summary = PassageSummary(
            name=self.name,
            verb="marked" if self.keep == "mark" else "cut out",
            counts=result.metadata,
            files=passages.files,
            times=times_in(repeats),
            shown=choose_examples(passages, self.text_field, self.storage),
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

    name = "substring_deduplication"

    @property
    def rule(self) -> PassageRule:
        return PassageRule(self.token, self.min_tokens, self.normalize)

    @property
    def allowed_values(self) -> Mapping[str, Sequence[Any]]:
        return {**super().allowed_values, "token": ("words", "characters")}

    def check(self) -> Iterable[str]:
        yield from super().check()
        yield from too_small(self, ["min_tokens"])


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

    name = "sentence_deduplication"

    @property
    def rule(self) -> PassageRule:
        return PassageRule("sentences", self.sentences, self.normalize)

    def check(self) -> Iterable[str]:
        yield from super().check()
        yield from too_small(self, ["sentences"])


@dataclass
class LineDeduplicationWorkflow(PassageWorkflow):
    """Find lines that are repeated in the corpus, and cut out all but the first.

    `min_count` sets how often a line must occur; `keep="none"` cuts out the first one too.
    """

    normalize: bool = True
    """Ignore case, spaces, punctuation and symbols when comparing."""

    name = "line_deduplication"

    @property
    def rule(self) -> PassageRule:
        return PassageRule("lines", 1, self.normalize)
