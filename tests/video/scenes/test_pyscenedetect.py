"""PySceneDetect detectors give the same cuts frame by frame as over the whole video."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus.films import Film, Shot
from corpus.scenes import Screen
from curator_core import AnyStage
from curator_core.testing import run_stage
from curator_video.probing import probe
from curator_video.scenes.pyscenedetect import (
    DetectorKind,
    PySceneDetectDetector,
    SceneDetectShotSplitter,
)
from curator_video.source import VideoSource
from curator_video.tasks import Video

Problems = Callable[[AnyStage], list[str]]

is_available = find_spec("scenedetect") and find_spec("cv2")
needs_it = pytest.mark.skipif(not is_available, reason="the extra `scenes`, 150 MB with OpenCV")


def shot_ends(detector: PySceneDetectDetector, pictures: Any) -> list[int]:
    flags = [flag for picture in pictures for flag in detector.push(picture)] + detector.finish()
    assert len(flags) == len(pictures), "one decision per frame"
    return [place for place, is_end in enumerate(flags) if is_end]


@needs_it
@pytest.mark.parametrize("kind", ["adaptive", "content", "hash", "histogram"])
def test_cuts_equal_those_of_the_library(kind: DetectorKind) -> None:
    from curator_video.scenes.pyscenedetect import _CLASSES
    from scenedetect import FrameTimecode, detectors

    film = Film([Shot(40, "pan"), Shot(60, "object"), Shot(45, "zoom")], seed=3)
    pictures = list(film.pictures(Screen(48, 27)))
    plain = getattr(detectors, _CLASSES[kind])()
    cuts = [
        cut.frame_num
        for number, picture in enumerate(pictures)
        for cut in plain.process_frame(
            FrameTimecode(number, fps=25.0), np.ascontiguousarray(picture[..., ::-1])
        )
    ]
    detector = PySceneDetectDetector(kind, None, 15)
    found = shot_ends(detector, pictures)
    assert found == [cut - 1 for cut in cuts]
    assert {39, 99} <= set(found)
    assert shot_ends(detector, pictures) == found, "finish() resets the detector"
    assert shot_ends(detector, []) == []


@needs_it
def test_clips_are_within_their_shots(harbour: Path) -> None:
    source = VideoSource(str(harbour))
    clips = run_stage(SceneDetectShotSplitter(kind="hash"), Video(source, facts=probe(source)))
    assert [(clip.data.start, clip.data.end) for clip in clips] == [
        (0.5, 3.5), (4.5, 7.5), (8.5, 11.5),
    ]  # fmt: skip
    assert str(clips[0].scores["shot_model"]).startswith("scenedetect 0.")


def test_wrong_options_are_reported(monkeypatch: pytest.MonkeyPatch, problems: Problems) -> None:
    monkeypatch.setattr("curator_core.model.optional_dependencies.find_spec", lambda name: None)
    reported = problems(SceneDetectShotSplitter(kind="contents", min_scene_frames=0))  # type: ignore[arg-type]
    assert reported == [
        "kind is 'contents' (did you mean content?)",
        "min_scene_frames is 0",
        "PySceneDetect needs scenedetect and cv2, which are not installed: "
        "pip install 'curator-video[scenes]'",
    ]
