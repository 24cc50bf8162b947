"""Of recordings that sound the same the best is kept, and all different ones are."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from curator_audio import AudioDeduplicationWorkflow, AudioFolderReader, ManifestWriter
from curator_core import Curation, InputError, LocalExecutor, PipelineError
from sounds import chatter, encoded, put, wav

HERE = LocalExecutor(workers=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "recordings"
    a, b = chatter(4.0, 1), chatter(4.0, 2)
    put(place, "a.wav", wav(a))
    put(place, "a_again.wav", wav(a))
    put(place, "a_part.wav", wav(a[:, 16_000:48_000]))
    put(place, "a_quiet.mp3", encoded(a * np.float32(0.2), 16_000, "mp3"))
    put(place, "b.wav", wav(b))
    put(place, "b_longer.opus", encoded(np.pad(b, ((0, 0), (4_000, 0))), 16_000, "opus"))
    put(place, "click.wav", wav(a[:, :800]))
    put(place, "click_again.wav", wav(a[:, :800]))
    put(place, "other.wav", wav(chatter(4.0, 3)))
    return place


def rows(output: Path) -> list[dict[str, Any]]:
    lines = [line for path in output.glob("*.jsonl") for line in path.read_text().splitlines()]
    return sorted(map(json.loads, lines), key=lambda row: row["audio_filepath"])


def names(output: Path) -> list[str]:
    return [Path(row["audio_filepath"]).name for row in rows(output)]


def run(*arguments: Any, **options: Any) -> dict[str, Any]:
    return AudioDeduplicationWorkflow(*arguments, **options).run(HERE).metadata


def test_recordings_that_sound_the_same_are_kept_once(folder: Path, tmp_path: Path) -> None:
    counts = run(str(folder), str(tmp_path / "out"))
    assert names(tmp_path / "out") == [
        "a.wav",
        "a_part.wav",
        "b_longer.opus",
        "click.wav",
        "other.wav",
    ]
    assert {name: counts[name] for name in ("recordings", "groups", "duplicates", "kept")} == {
        "recordings": 9,
        "groups": 3,
        "duplicates": 4,
        "kept": 5,
    }
    assert counts["unprinted"] == 2
    again = AudioDeduplicationWorkflow(str(folder), str(tmp_path / "out")).run(
        LocalExecutor(workers=0)
    )
    assert again.did_nothing


def test_by_samples_finds_only_equal_samples(folder: Path, tmp_path: Path) -> None:
    run(str(folder), str(tmp_path / "out"), by="samples", keep="none")
    assert names(tmp_path / "out") == [
        "a_part.wav",
        "a_quiet.mp3",
        "b.wav",
        "b_longer.opus",
        "other.wav",
    ]


def test_excerpts_can_count_as_duplicates(folder: Path, tmp_path: Path) -> None:
    run(str(folder), str(tmp_path / "out"), excerpts=True, keep="mark")
    found = rows(tmp_path / "out")
    clusters = {Path(row["audio_filepath"]).name: row["cluster_id"] for row in found}
    assert len({clusters[name] for name in ("a.wav", "a_part.wav", "a_quiet.mp3")}) == 1
    assert clusters["other.wav"] is None
    assert [row["is_duplicate"] for row in found].count(False) == 4


def test_segments_of_a_manifest_are_compared_and_a_column_can_decide(tmp_path: Path) -> None:
    path = put(tmp_path, "a.wav", wav(np.hstack((chatter(3.0, 1), chatter(3.0, 2)))))
    segments = [
        {"audio_filepath": path, "offset": 0.0, "duration": 3.0, "worth": 1.0},
        {"audio_filepath": path, "offset": 3.0, "duration": 3.0, "worth": None},
        {"audio_filepath": path, "offset": 0.0, "duration": 3.0, "worth": 2.0},
        {"audio_filepath": "missing.wav", "worth": 9.0},
    ]
    manifest = tmp_path / "manifest.jsonl"
    manifest.write_text("".join(json.dumps(row) + "\n" for row in segments))
    counts = run(str(manifest), str(tmp_path / "out"), priority_field="worth")
    assert [row["worth"] for row in rows(tmp_path / "out")] == [None, 2.0, 9.0]
    assert counts["unreadable"] == 1


def test_invalid_options_are_reported(folder: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    wrong = AudioDeduplicationWorkflow(
        str(folder), "", by="sounds", threshold=0.5, overlap=0, partitions=0
    )
    problems = list(wrong.check())
    assert problems[0] == "by is 'sounds' (did you mean sound?)"
    assert problems[1] == (
        "threshold is 0.5, but must be from 0 to 0.35: unrelated recordings "
        "differ in slightly less than half of their bits"
    )
    assert problems[2] == "overlap is 0, but must be more than 0 and at most 1"
    assert problems[3].startswith("partitions is 0, but must be from 1 to ")
    assert problems[4] == "output_path is empty; name the folder for the result"
    with pytest.raises(PipelineError, match="nowhere"):
        run(str(tmp_path / "nowhere"), out)
    run(str(folder), out)
    put(folder, "new.wav", wav(chatter(1.0, 9)))
    with pytest.raises(InputError, match="the input has changed since"):
        run(str(folder), out)


def test_it_is_a_step_between_other_stages(folder: Path, tmp_path: Path) -> None:
    steps = [
        AudioFolderReader(str(folder)),
        AudioDeduplicationWorkflow.step(),
        ManifestWriter(str(tmp_path / "out")),
    ]
    Curation(steps).run(HERE)
    run(str(folder), str(tmp_path / "alone"))

    assert names(tmp_path / "out") == names(tmp_path / "alone")
