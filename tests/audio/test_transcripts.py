"""Error rates are those of jiwer; what nobody can have said goes with a reason."""

import random
from typing import Any

import jiwer
import pytest
from curator_audio import (
    AudioBatch,
    AudioToDocument,
    CerFilter,
    EdgeCerFilter,
    HallucinationFilter,
    WerFilter,
)
from curator_audio.transcripts.distances import distance
from curator_audio.transcripts.rates import (
    AS_WRITTEN,
    Normalization,
    character_error_rate,
    word_error_rate,
)
from curator_core import DocumentBatch
from curator_core.testing import check_stage, run_stage, run_stages
from hypothesis import given
from hypothesis import strategies as st

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
    ("said", "heard"),
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
def test_what_cannot_be_heard_is_no_mistake(said: str, heard: str) -> None:
    batch = AudioBatch.from_pylist([{"text": said, "pred_text": heard}])
    (rated,) = run_stage(WerFilter(), batch)
    assert rated.to_pylist()[0]["wer"] == 0.0


def test_a_thousand_pairs_are_as_by_jiwer() -> None:
    for said, heard in pairs(1_000):
        assert word_error_rate(said, heard) == jiwer.wer(said, heard)
        assert character_error_rate(said, heard) == jiwer.cer(said, heard)


@pytest.mark.parametrize(
    ("said", "heard", "wer", "cer"),
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
def test_known_pairs(said: str, heard: str, wer: float, cer: float) -> None:
    assert word_error_rate(said, heard) == pytest.approx(wer)
    assert character_error_rate(said, heard) == pytest.approx(cer)


@given(st.text("abc", max_size=70), st.text("abc", max_size=70))
def test_distance_is_that_of_the_table(one: str, other: str) -> None:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    assert distance(one, other) == row[-1]


def test_normalization_takes_away_what_is_no_mistake() -> None:
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


def test_what_nobody_says_goes() -> None:
    texts = {
        "thank you for watching": "stock phrase",
        "so " * 30: "repeated words",
        "w" * 36: "word of more than 35 characters",
        "an honest sentence that is far too long for its time": "more than 40 characters a second",
        "an honest sentence": None,
        "": None,
        "no no no": None,
    }
    rows = [{"pred_text": text, "duration": 1.0} for text in texts]
    stage = HallucinationFilter(phrases=["Thank you for watching!"])
    rows[1]["duration"] = 60.0
    run = run_stages([stage], [AudioBatch.from_pylist(rows)])
    assert set(run.counts.reasons) == {reason for reason in texts.values() if reason}
    assert run.outputs[0].num_items == 3


def doubt(text: str, **options: Any) -> str | None:
    stage = HallucinationFilter(flag_field="doubt", **options)
    (made,) = run_stage(stage, AudioBatch.from_pylist([{"pred_text": text}]))
    found: str | None = made.to_pylist()[0]["doubt"]
    return found


def test_what_models_write_of_silence_is_known() -> None:
    for text in (
        "Thank you for watching!",
        "Thanks for watching. " * 3,
        "Untertitel der Amara.org-Community",
        "Продолжение следует...",
        "ご視聴ありがとうございました。",
    ):
        assert doubt(text) == "stock phrase"
        assert doubt(text, phrases=[]) != "stock phrase"
    assert doubt("Thank you for watching my dog.") is None
    assert doubt("") is None


def test_long_transcripts_are_looked_at_in_stretches() -> None:
    chance = random.Random(1)
    common = [f"word{n}" for n in range(400)]
    honest = " ".join(chance.choices(common, k=4_000))
    assert doubt(honest) is None
    assert doubt(f"{honest} {'so it goes ' * 60}") == "repeated words"


def test_scripts_without_spaces_have_no_endless_words() -> None:
    japanese = (
        "吾輩は猫である名前はまだ無いどこで生れたかとんと見当がつかぬ"
        "何でも薄暗いじめじめした所でニャーニャー泣いていた事だけは記憶している"
    )
    thai = "ประเทศไทยเป็นประเทศที่ตั้งอยู่ในภูมิภาคเอเชียตะวันออกเฉียงใต้มีพรมแดนติดกับลาว"
    assert doubt(japanese) is None
    assert doubt(thai) is None
    assert doubt("谢谢大家" * 20) == "repeated words"
    assert doubt(f"好的{'x' * 36}") == "word of more than 35 characters"


def test_ends_that_were_cut_off_show_at_the_edges() -> None:
    said = "it was the best of times it was the worst of times"
    rows = [
        {"text": said, "pred_text": said},
        {"text": said, "pred_text": said.replace("best", "rest")},
        {"text": said, "pred_text": said.removesuffix("mes")},
        {"text": "no", "pred_text": "go"},
    ]
    run = run_stages([EdgeCerFilter(0.2)], [AudioBatch.from_pylist(rows)])
    assert [row["edge_cer"] for row in run.outputs[0].to_pylist()] == [0.0, 0.0]
    assert run.counts.reasons == {"edge character error rate above 0.2": 2}
    assert list(EdgeCerFilter(edge=0).check()) == ["edge is 0, but must be 1 or more"]


def test_doubts_can_be_flags() -> None:
    rows = [{"pred_text": "so " * 30}, {"pred_text": "an honest sentence"}]
    (made,) = run_stage(HallucinationFilter(flag_field="doubt"), AudioBatch.from_pylist(rows))
    assert [row["doubt"] for row in made.to_pylist()] == ["repeated words", None]


def test_stages_keep_what_stages_promise() -> None:
    check_stage(WerFilter(0.5), AudioBatch.from_pylist(ROWS))
    check_stage(HallucinationFilter(), AudioBatch.from_pylist(ROWS))


def test_mistakes_are_told() -> None:
    assert list(WerFilter(-1.0).check()) == ["at_most is -1, but must be 0 or more"]
    wrong = HallucinationFilter(
        unique_words=40, min_words=0, longest_word=0, characters_per_second=0
    )
    assert list(wrong.check()) == [
        "unique_words is 40, but must be from 0 to 1",
        "min_words is 0, but must be 1 or more",
        "longest_word is 0, but must be 1 or more",
        "characters_per_second is 0, but must be more than 0",
    ]


def test_rows_become_documents() -> None:
    rows = [{"audio_filepath": "a", "audio": b"x", "text": "old", "pred_text": "new"}]
    (made,) = run_stage(AudioToDocument("pred_text"), AudioBatch.from_pylist(rows))
    assert type(made) is DocumentBatch
    assert made.to_pylist() == [{"audio_filepath": "a", "text": "new"}]
    check_stage(AudioToDocument("pred_text"), AudioBatch.from_pylist(rows))
