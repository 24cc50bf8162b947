"""Sound events: detect sounds other than speech with a transformers model, such as music."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from curator_core import Resources, WorkerInfo
from curator_core.errors import nearest
from curator_models.devices import Device, choose_device, default_resources
from curator_models.hub import ModelError, ModelSource
from curator_models.loading import load_pretrained, read_labels
from curator_models.transformers_compat import import_transformers, loading_errors
from curator_models.weights import weight_files, weights_digest

from curator_audio.model_stage import AudioModel, AudioPiece, EvenCutter

EVENTS = pa.list_(pa.struct([("label", pa.string()), ("score", pa.float64())]))

_LONGEST, _SHORTEST = 10.0, 1.0


class EventSource(ModelSource):
    extra = "curator-audio[transformers]"


@dataclass(kw_only=True)
class SoundEventFilter(AudioModel):
    """Add `sound_events`, labels with scores; drop recordings by their sounds.

    Longer recordings are scored in pieces of ten seconds; the highest score of each label counts.
    The model is an audio classification model such as MIT/ast-finetuned-audioset-10-10-0.4593.
    """

    model: str
    """Folder of a model, or its name on Hugging Face."""

    at_least: float = 0.3
    """Lowest score of a sound to be reported."""

    wanted: list[str] = field(default_factory=list)
    """Sounds of which at least one must be present, such as Speech."""

    unwanted: list[str] = field(default_factory=list)
    """Sounds that must be absent, such as Music."""

    device: Device = "auto"
    """auto, cuda or cpu."""

    def __post_init__(self) -> None:
        self.resources: Resources = default_resources(self.device, self.name)

    def sources(self) -> Sequence[EventSource]:
        return (EventSource(self.model),)

    def check(self) -> Iterable[str]:
        yield from super().check()
        if not 0 < self.at_least < 1:
            yield f"at_least is {self.at_least:g}, but must be between 0 and 1"
        local = self.sources()[0].local_folder
        known = read_labels(local) if local is not None else []
        for name in (*self.wanted, *self.unwanted) if known else ():
            if name not in known:
                meant = nearest(name, known)
                yield f"the model has no label {name!r}" + (
                    f" (did you mean {meant}?)" if meant else ""
                )

    def column_names(self) -> Sequence[str]:
        return ("sound_events",)

    def load(self, worker: WorkerInfo) -> str:
        folder = self.sources()[0].folder()
        self._labels = read_labels(folder)
        with loading_errors(folder):
            self._features: Any = import_transformers().AutoFeatureExtractor.from_pretrained(
                str(folder), trust_remote_code=False
            )
        if self._features.sampling_rate != self.rate:
            raise ModelError(
                f"{self.model} takes {self._features.sampling_rate} samples per second; only "
                f"models for {self.rate} are supported"
            )
        self._device = choose_device(worker, self.resources, self.name)
        network = load_pretrained("AutoModelForAudioClassification", folder)
        self._network = network.to(self._device).eval()
        return f"{folder.name} sha256:{weights_digest(weight_files(folder))}"

    def unload(self) -> None:
        vars(self).pop("_network", None)

    def cutter(self) -> EvenCutter:
        return EvenCutter(round(_LONGEST * self.rate), round(_SHORTEST * self.rate))

    def predict(self, pieces: Sequence[AudioPiece]) -> Sequence[Any]:
        import torch

        sounds = [piece.samples for piece in pieces]
        given = self._features(
            sounds, sampling_rate=self.rate, return_tensors="pt", padding=True
        ).to(self._device)
        with torch.inference_mode():
            return list(self._network(**given).logits.float().sigmoid().cpu().numpy())

    def combine(self, outputs: Sequence[tuple[AudioPiece, Any]]) -> dict[str, float]:
        """Return the labels with a sufficient score, highest first."""
        import numpy as np

        highest = np.max([scores for _, scores in outputs], axis=0)
        order = np.argsort(-highest, kind="stable").tolist()
        return {
            self._labels[index]: float(highest[index])
            for index in order
            if highest[index] >= self.at_least
        }

    def build_columns(self, values: Sequence[Any]) -> Mapping[str, pa.Array]:
        listed = [
            [{"label": label, "score": score} for label, score in found.items()] for found in values
        ]
        return {"sound_events": pa.array(listed, EVENTS)}

    def drop_reason(self, value: Any) -> str | None:
        for name in self.unwanted:
            if name in value:
                return f"{name} is heard"
        if self.wanted and not any(name in value for name in self.wanted):
            return f"no {' or '.join(self.wanted)} is heard"
        return None
