"""Windows have about the requested length and number of speakers, and overlap little."""

from typing import Any

import pytest
from curator_audio import AudioBatch, ConversationBuilder
from curator_audio.conversations import WindowCriteria, choose_separate, find_windows
from curator_audio.speakers.turns import SpeakerTurn
from curator_core import Dropped
from curator_core.testing import check_stage, run_stages
from hypothesis import given
from hypothesis import strategies as st

WANTED = WindowCriteria(108, 120, 132, 2, 5, 10)


def row(turns: list[SpeakerTurn], **more: Any) -> dict[str, Any]:
    return {"audio_filepath": "a.wav", "turns": [turn._asdict() for turn in turns], **more}


def talk(seconds: float, speakers: int, turn: float = 7.0) -> list[SpeakerTurn]:
    count = int(seconds / turn)
    return [SpeakerTurn(n * turn, (n + 1) * turn - 0.5, f"s{n % speakers}") for n in range(count)]


def test_windows_become_rows_with_their_offset_in_the_source() -> None:
    rows = [
        row(talk(400, 3), text="all of it", offset=1000.0, duration=400.0),
        row(talk(400, 1)),
        row(talk(60, 2)),
        {"audio_filepath": "none.wav", "turns": None},
    ]
    run = run_stages([ConversationBuilder(max_overlap=0.0)], [AudioBatch.from_pylist(rows)])
    made = run.outputs[0].to_pylist()
    assert [(one["offset"], one["duration"], one["segment"]) for one in made] == [
        (1000.0, 118.5, 0),
        (1119.0, 118.5, 1),
        (1238.0, 118.5, 2),
    ]
    for one in made:
        assert one["num_speakers"] == 3
        assert one["turns"][0]["start"] == 0.0
        assert one["turns"][-1]["end"] == one["duration"]
        assert one["source_text"] == "all of it"
    assert run.counts.reasons == {
        "fewer than 2 speakers": 2,
        "no conversation of that length": 1,
    }


def test_rows_without_a_conversation_are_dropped_and_can_be_kept() -> None:
    rows = [row(talk(400, 1)), row(talk(400, 2)), {"audio_filepath": "b.wav", "turns": []}]
    made = list(ConversationBuilder().process(AudioBatch.from_pylist(rows)))
    [note] = [one for one in made if isinstance(one, Dropped)]
    assert isinstance(note.records, AudioBatch)
    assert [one["audio_filepath"] for one in note.records.to_pylist()] == ["a.wav", "b.wav"]


@given(
    lengths=st.lists(st.floats(0.5, 40), min_size=1, max_size=40),
    pauses=st.lists(st.floats(-2, 12), min_size=40, max_size=40),
    speakers=st.integers(1, 7),
    share=st.floats(0, 1),
)
def test_every_window_meets_the_criteria(
    lengths: list[float], pauses: list[float], speakers: int, share: float
) -> None:
    turns, start = [], 0.0
    for number, (length, pause) in enumerate(zip(lengths, pauses, strict=False)):
        turns.append(SpeakerTurn(start, start + length, f"s{number % speakers}"))
        start = max(start + 0.1, start + length + pause)
    found = choose_separate(list(find_windows(turns, WANTED)), share, WANTED.best)
    for window in found:
        assert 108 <= window.seconds <= 132
        assert 2 <= len({turn.speaker for turn in window.turns}) <= 5
        assert window.start == window.turns[0].start
        assert window.end == max(turn.end for turn in window.turns)
    for number, one in enumerate(found):
        for other in found[:number]:
            common = min(one.end, other.end) - max(one.start, other.start)
            assert common <= share * min(one.seconds, other.seconds) + 1e-6


def test_stages_pass_the_contract() -> None:
    check_stage(ConversationBuilder(), AudioBatch.from_pylist([row(talk(300, 2))]))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"duration": 0}, "duration is 0, but must be more than 0"),
        ({"tolerance": 2}, "tolerance is 2, but must be from 0 to 1"),
        ({"max_overlap": -1}, "max_overlap is -1, but must be from 0 to 1"),
        ({"max_gap": -1}, "max_gap is -1, but must be 0 or more"),
        (
            {"min_speakers": 6},
            "min_speakers is 6 and max_speakers 5; they must be 1 or more, and the first no larger "
            "than the second",
        ),
    ],
)
def test_invalid_options_are_reported(options: dict[str, Any], problem: str) -> None:
    assert list(ConversationBuilder(**options).check()) == [problem]
