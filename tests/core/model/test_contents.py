"""Contents: lengths, languages and scores of records, estimated from a sample."""

import json

import pyarrow as pa
import pytest
from curator_core import DocumentBatch, Task
from curator_core.model.contents import CHARACTERS, LANGUAGE, SECONDS, WORDS, Contents, contents_of
from curator_core.model.records import StageCounts
from curator_core.model.scores import edges_of


def measure(task: Task[object]) -> Contents:
    found = contents_of(task)
    assert found is not None
    return found


def mean(found: Contents, name: str) -> float:
    bins = found.numbers[name]
    weighted = sum(times * sum(edges_of(place)) / 2 for place, times in bins.items())
    return weighted / sum(bins.values())


def test_lengths_languages_and_scores_are_measured() -> None:
    texts = ["five words are in it"] * 30 + ["two words"] * 10
    batch = DocumentBatch(
        pa.table({"text": texts, "lang": ["en"] * 40, "quality": [0.5] * 40, "id": range(40)})
    )
    found = measure(batch)
    assert list(found.numbers) == [CHARACTERS, WORDS, "quality"]
    assert mean(found, CHARACTERS) == pytest.approx((30 * 20 + 10 * 9) / 40, rel=0.05)
    assert mean(found, WORDS) == pytest.approx(4.25, rel=0.2)
    assert found.values == {LANGUAGE: {"en": 40}}


def test_a_few_rows_stand_for_all_of_a_large_batch() -> None:
    batch = DocumentBatch(pa.table({"text": ["a text of some words"] * 100_001}))
    counted = sum(measure(batch).numbers[CHARACTERS].values())
    assert counted == pytest.approx(100_001, rel=0.01)


def test_words_at_the_start_of_a_long_text_stand_for_all_of_it() -> None:
    batch = DocumentBatch(pa.table({"text": ["word " * 100_000]}))
    assert mean(measure(batch), WORDS) == pytest.approx(100_000, rel=0.05)


class Film(Task[int]):
    @property
    def playing_ms(self) -> int:
        return 90_000


class Broken(Film):
    @property
    def playing_ms(self) -> int:
        raise LookupError


def test_films_have_a_duration_and_what_cannot_be_measured_is_left_out() -> None:
    assert mean(measure(Film(1)), SECONDS) == pytest.approx(90, rel=0.05)
    assert contents_of(Broken(1)) is None
    assert contents_of(Task(1)) is None
    assert contents_of(DocumentBatch(pa.table({"id": [1, 2]}))) is None


def test_counts_add_up_and_survive_the_journal() -> None:
    one = StageCounts(contents=measure(DocumentBatch(pa.table({"text": ["a", "b"]}))))
    other = StageCounts(contents=measure(DocumentBatch(pa.table({"text": ["c"], "lang": ["de"]}))))
    total = StageCounts()
    for counts in (StageCounts(), one, other, StageCounts()):
        total.add(StageCounts.from_json(json.loads(json.dumps(counts.to_json()))))
    assert total.contents is not None
    assert sum(total.contents.numbers[CHARACTERS].values()) == 3
    assert total.contents.values == {LANGUAGE: {"de": 1}}
