"""Diarization models: pyannote and Sortformer."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from curator_core.model.optional_dependencies import not_installed
from curator_models.hub import ModelError

from curator_audio.speakers.turns import SpeakerTurn
from curator_audio.speakers.voices import RATE

if TYPE_CHECKING:
    from curator_audio.waveform import MonoSamples


DiarizationBackend: TypeAlias = Literal["weak", "pyannote", "sortformer"]
"""weak: cluster the voices of spans of speech, without a diarization model."""

_NEEDS = {"pyannote": ("pyannote.audio", "pip install pyannote.audio"),
          "sortformer": ("nemo", "pip install 'nemo_toolkit[asr]'")}  # fmt: skip


class DiarizationModel(Protocol):
    """A diarization model that processes whole rows."""

    @property
    def label(self) -> str:
        """Name of the model."""

    def turns(self, sound: "MonoSamples") -> list[SpeakerTurn]:
        """Return the turns in one channel at 16 kHz."""


def missing_backend(backend: DiarizationBackend) -> str | None:
    """Return a message with the install command if the backend is not installed."""
    if backend not in _NEEDS:
        return None
    module, command = _NEEDS[backend]
    return not_installed(f"diarization with {backend}", [module], command)


class PyannoteModel:
    """A pyannote.audio pipeline: its folder or config.yaml, or its name on Hugging Face."""

    def __init__(self, model: str, device: str, token: str | None) -> None:
        import torch
        from pyannote.audio import Pipeline

        try:
            pipeline = Pipeline.from_pretrained(model, **({"token": token} if token else {}))
        except (OSError, ValueError, RuntimeError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise ModelError(f"pyannote cannot load {model}: {reason}") from error
        if pipeline is None:
            raise ModelError(
                f"pyannote has no access to {model}: accept its licence on Hugging Face, and name "
                "the environment variable of your token in token_variable"
            )
        self._pipeline: Any = pipeline.to(torch.device(device))
        self.label = f"pyannote {model}"

    def turns(self, sound: "MonoSamples") -> list[SpeakerTurn]:
        import torch

        output = self._pipeline({"waveform": torch.from_numpy(sound)[None], "sample_rate": RATE})
        found = getattr(output, "speaker_diarization", output)
        return [
            SpeakerTurn(float(segment.start), float(segment.end), str(speaker))
            for segment, _, speaker in found.itertracks(yield_label=True)
        ]


class SortformerModel:
    """NVIDIA's Sortformer through NeMo: a .nemo file, or a name on Hugging Face."""

    def __init__(self, model: str, device: str) -> None:
        from nemo.collections.asr.models import SortformerEncLabelModel

        path = Path(model).expanduser()
        try:
            if path.is_file():
                loaded = SortformerEncLabelModel.restore_from(str(path), map_location=device)
            else:
                loaded = SortformerEncLabelModel.from_pretrained(model, map_location=device)
        except (OSError, ValueError, RuntimeError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise ModelError(f"NeMo cannot load {model}: {reason}") from error
        self._model: Any = loaded.eval()
        self.label = f"sortformer {path.stem if path.is_file() else model}"

    def turns(self, sound: "MonoSamples") -> list[SpeakerTurn]:
        """Parse the turns of NeMo: lines of `start end speaker`, in seconds."""
        (found,) = self._model.diarize(audio=[sound], sample_rate=RATE, batch_size=1, verbose=False)
        parts = [str(line).split() for line in found]
        return [SpeakerTurn(float(start), float(end), speaker) for start, end, speaker in parts]
