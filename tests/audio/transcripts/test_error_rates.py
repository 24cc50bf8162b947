"""Error rates equal those of jiwer, and filters drop rows by them."""

import random
import tracemalloc
from collections.abc import Callable

import jiwer
import pytest
from curator_audio import (
    AudioBatch,
    CerFilter,
    EdgeCerFilter,
    HallucinationFilter,
    WerFilter,
)
from curator_audio.transcripts import error_rates
from curator_audio.transcripts.error_rates import (
    AS_WRITTEN,
    Normalization,
    TextTooLongError,
    character_error_rate,
    edit_distance,
    word_error_rate,
)
from curator_core import AnyStage, DocumentBatch, Dropped, Rejected
from curator_core.testing import check_stage, run_stage, run_stages
from hypothesis import given
from hypothesis import strategies as st

Problems = Callable[[AnyStage], list[str]]

WORDS = [
    "the",
    "a",
    "cat",
    "sat",
    "on",
    "mat",
    "mats",
    "one",
    "two",
    "too",
    "tree",
    "Zürich",
    "東京",
]


def pairs(count: int) -> list[tuple[str, str]]:
    chance = random.Random(7)

    def sentence() -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(1, 80)))

    return [(sentence(), sentence()) for _ in range(count)]


@pytest.mark.parametrize(
    ("text", "transcript"),
    [
        ("x\u200by", "xy"),
        ("co\u00adoperate", "cooperate"),
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
            "\u0645\u06cc\u062e\u0648\u0627\u0647\u0645",
        ),
        ("\u0130stanbul", "istanbul"),
        ("I\u0307zmir", "\u0130ZM\u0130R"),
    ],
    ids=[
        "zero-width space",
        "soft hyphen",
        "Persian non-joiner",
        "capital I",
        "two signs",
    ],
)
def test_inaudible_differences_are_not_errors(text: str, transcript: str) -> None:
    batch = AudioBatch.from_pylist([{"text": text, "pred_text": transcript}])
    (rated,) = run_stage(WerFilter(), batch)
    assert rated.to_pylist()[0]["wer"] == 0.0


def test_rates_of_a_thousand_pairs_equal_those_of_jiwer() -> None:
    for text, transcript in pairs(1_000):
        assert word_error_rate(text, transcript) == jiwer.wer(text, transcript)
        assert character_error_rate(text, transcript) == jiwer.cer(text, transcript)


@pytest.mark.parametrize(
    ("text", "transcript", "wer", "cer"),
    [
        ("the cat sat on the mat", "the cat sat on mat", 1 / 6, 4 / 22),
        ("the cat sat on the mat", "cat sat on mat", 2 / 6, 8 / 22),
        ("hello", "hello hello world", 2.0, 2.4),
        ("one two three four five", "one too tree four five six", 0.6, 6 / 23),
        ("", "abc d", 2.0, 5.0),
        ("", "", 0.0, 0.0),
        ("a", "", 1.0, 1.0),
        (" a  b ", "a b", 0.0, 1 / 4),
    ],
)
def test_rates_of_known_pairs(text: str, transcript: str, wer: float, cer: float) -> None:
    assert word_error_rate(text, transcript) == pytest.approx(wer)
    assert character_error_rate(text, transcript) == pytest.approx(cer)


@given(
    st.text("abc", max_size=70), st.text("abc", max_size=70), st.sampled_from([1, 2, 7, 64, 16_384])
)
def test_edit_distance_equals_that_of_the_full_table(one: str, other: str, block: int) -> None:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(error_rates, "_BLOCK", block)
        assert edit_distance(one, other) == row[-1]


def test_memory_grows_with_the_block_and_not_with_the_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert error_rates._BLOCK**2 / 16 < 20_000_000, "bytes for a block of distinct words"
    monkeypatch.setattr(error_rates, "_BLOCK", 128)
    words = [str(number) for number in range(2_000)]
    tracemalloc.start()
    assert edit_distance(words, [*words[1:], "end"]) == 2
    assert tracemalloc.get_traced_memory()[1] < 150_000, "bytes; without blocks it is 400,000"
    tracemalloc.stop()


def test_normalization_removes_case_and_punctuation() -> None:
    assert Normalization()("Don\u2019t «PANIC», it's\t'fine' — ok?") == "don't panic it's fine ok"
    assert Normalization()("\uff21\uff22C naïve कि") == "abc naïve कि"
    assert AS_WRITTEN("A, b!") == "A, b!"


ROWS = [
    {"audio_filepath": "a", "text": "Hello, there world.", "pred_text": "hello there world"},
    {"audio_filepath": "b", "text": "one two", "pred_text": "five six"},
    {"audio_filepath": "c", "text": None, "pred_text": "five six"},
    {"audio_filepath": "d", "text": "one two", "pred_text": None},
]


def test_filters_drop_with_a_reason() -> None:
    run = run_stages([WerFilter(0.5)], [AudioBatch.from_pylist(ROWS)])
    assert [row["wer"] for row in run.outputs[0].to_pylist()] == [0.0]
    assert run.counts.reasons == {"word error rate above 0.5": 2, "no text to compare with": 1}
    run = run_stages([CerFilter()], [AudioBatch.from_pylist(ROWS)])
    assert [row["cer"] for row in run.outputs[0].to_pylist()] == [0.0, 6 / 7, None, 1.0]
    assert isinstance(run.outputs[0], AudioBatch)


@pytest.mark.parametrize("batch_type", [AudioBatch, DocumentBatch])
def test_rows_too_long_to_compare_are_rejected_alone(
    batch_type: type[DocumentBatch], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(error_rates, "MAX_COMPARISONS", 8)
    rows = [{"audio_filepath": "long", "text": "a b c", "pred_text": "a c c"}, *ROWS[1:]]
    rejected, *kept_and_dropped = WerFilter(0.5).process(batch_type.from_pylist(rows))
    assert isinstance(rejected, Rejected)
    assert "3 and 3 items" in rejected.reason
    assert "use shorter rows" in rejected.reason
    assert rejected.row == 0
    assert rejected.damaged
    assert sum(one.items for one in kept_and_dropped if isinstance(one, Dropped)) == 3
    [alone] = WerFilter().process(batch_type.from_pylist(rows[:1]))
    assert isinstance(alone, Rejected)


def test_a_long_transcript_of_a_short_text_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_rates, "MAX_COMPARISONS", 8)
    assert word_error_rate("a", "b b b b b b b b") == 8.0
    with pytest.raises(TextTooLongError):
        word_error_rate("a b", "b b b b b b b b")


def test_cut_off_ends_raise_the_edge_error_rate() -> None:
    text = "it was the best of times it was the worst of times"
    rows = [
        {"text": text, "pred_text": text},
        {"text": text, "pred_text": text.replace("best", "rest")},
        {"text": text, "pred_text": text.removesuffix("mes")},
        {"text": "no", "pred_text": "go"},
    ]
    run = run_stages([EdgeCerFilter(0.2)], [AudioBatch.from_pylist(rows)])
    assert [row["edge_cer"] for row in run.outputs[0].to_pylist()] == [0.0, 0.0]
    assert run.counts.reasons == {"edge character error rate above 0.2": 2}


def test_hallucinations_can_be_flagged() -> None:
    rows = [{"pred_text": "so " * 30}, {"pred_text": "an honest sentence"}]
    (made,) = run_stage(HallucinationFilter(flag_field="doubt"), AudioBatch.from_pylist(rows))
    assert [row["doubt"] for row in made.to_pylist()] == ["repeated words", None]


def test_stages_pass_the_contract() -> None:
    check_stage(WerFilter(0.5), AudioBatch.from_pylist(ROWS))


def test_invalid_options_are_reported(problems: Problems) -> None:
    assert problems(WerFilter(-1.0)) == ["at_most is -1"]
    assert problems(EdgeCerFilter(edge=0)) == ["edge is 0"]
