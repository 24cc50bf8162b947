"""Transcripts that a model made up are dropped or flagged with a reason."""

import random
from collections.abc import Callable
from typing import Any

from curator_audio import AudioBatch, HallucinationFilter
from curator_core import AnyStage
from curator_core.testing import check_stage, run_stage, run_stages

Problems = Callable[[AnyStage], list[str]]


def test_implausible_transcripts_are_dropped() -> None:
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


def flag(text: str, **options: Any) -> str | None:
    stage = HallucinationFilter(flag_field="doubt", **options)
    (made,) = run_stage(stage, AudioBatch.from_pylist([{"pred_text": text}]))
    found: str | None = made.to_pylist()[0]["doubt"]
    return found


def test_stock_phrases_for_silence_are_dropped() -> None:
    for text in (
        "Thank you for watching!",
        "Thanks for watching. " * 3,
        "Untertitel der Amara.org-Community",
        "Продолжение следует...",
        "ご視聴ありがとうございました。",
    ):
        assert flag(text) == "stock phrase"
        assert flag(text, phrases=[]) != "stock phrase"
    assert flag("Thank you for watching my dog.") is None
    assert flag("") is None


def test_long_transcripts_are_checked_in_windows() -> None:
    chance = random.Random(1)
    common = [f"word{n}" for n in range(400)]
    honest = " ".join(chance.choices(common, k=4_000))
    assert flag(honest) is None
    assert flag(f"{honest} {'so it goes ' * 60}") == "repeated words"


def test_scripts_without_spaces_have_no_overlong_words() -> None:
    japanese = (
        "吾輩は猫である名前はまだ無いどこで生れたかとんと見当がつかぬ"
        "何でも薄暗いじめじめした所でニャーニャー泣いていた事だけは記憶している"
    )
    thai = "ประเทศไทยเป็นประเทศที่ตั้งอยู่ในภูมิภาคเอเชียตะวันออกเฉียงใต้มีพรมแดนติดกับลาว"
    assert flag(japanese) is None
    assert flag(thai) is None
    assert flag("谢谢大家" * 20) == "repeated words"
    assert flag(f"好的{'x' * 36}") == "word of more than 35 characters"


def test_stages_pass_the_contract() -> None:
    rows = [{"pred_text": "so " * 30}, {"pred_text": "an honest sentence"}, {"pred_text": None}]
    check_stage(HallucinationFilter(), AudioBatch.from_pylist(rows))


def test_invalid_options_are_reported(problems: Problems) -> None:
    wrong = HallucinationFilter(
        unique_words=40, min_words=0, longest_word=0, characters_per_second=0
    )
    assert problems(wrong) == [
        "unique_words is 40",
        "min_words is 0",
        "longest_word is 0",
        "characters_per_second is 0",
    ]
