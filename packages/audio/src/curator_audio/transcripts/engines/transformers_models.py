"""Engine for transformers models, such as Whisper and wav2vec 2.0."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from curator_core import WorkerInfo
from curator_models.devices import keep_to_cores
from curator_models.digests import digest_of, weights_in
from curator_models.importing import transformers
from curator_models.loading import quiet, told
from curator_models.locating import ModelSource

from curator_audio.forms import SPEECH
from curator_audio.transcripts.engines.recognitions import Recognition, Wishes, Word
from curator_audio.transcripts.engines.sources import Found

if TYPE_CHECKING:
    from curator_audio.cutting import Sound

_CHUNK, _STRIDE = 30.0, 5.0
"""Seconds per chunk of longer recordings, and the overlap of neighbouring chunks."""


class SpeechSource(ModelSource):
    extra = "curator-audio[transformers]"


@dataclass
class TransformersModel:
    """Transcribe in chunks of half a minute, and join the results where they overlap."""

    found: Found
    wishes: Wishes

    def setup(self, worker: WorkerInfo) -> str:
        import torch

        keep_to_cores(worker)
        folder = SpeechSource(self.found.place).fetch()
        wanted = self.wishes.device
        device = wanted if wanted != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
        with quiet(transformers()), told(folder):
            self._pipeline: Any = transformers().pipeline(
                "automatic-speech-recognition",
                model=str(folder),
                device=device,
                trust_remote_code=False,
            )
        tokens = self._pipeline.tokenizer
        if tokens.pad_token_id is None:  # some models define none, which prevents batching
            tokens.pad_token_id = tokens.eos_token_id
        self._is_whisper = self._pipeline.type == "seq2seq_whisper"
        return f"transformers {folder.name} sha256:{digest_of(weights_in(folder))}"

    def hear(self, sound: "Sound") -> Recognition:
        is_long = len(sound) > _CHUNK * (SPEECH.sample_rate or 1)
        with quiet(transformers()):
            found = self._pipeline(
                {"raw": sound, "sampling_rate": SPEECH.sample_rate},
                return_timestamps="word" if self.wishes.words else None,
                chunk_length_s=_CHUNK if is_long else None,
                stride_length_s=_STRIDE if is_long else None,
                batch_size=self.wishes.batch_size,
                **({"generate_kwargs": self._generating()} if self._is_whisper else {}),
            )
        words = [
            Word(chunk["text"].strip(), float(chunk["timestamp"][0]), _end(chunk, sound))
            for chunk in found.get("chunks", ())
        ]
        return Recognition(found["text"].strip(), self.wishes.language, words)

    def _generating(self) -> dict[str, Any]:
        """Return options for Whisper only; English-only models accept no language."""
        config = self._pipeline.model.generation_config
        language = self.wishes.language if getattr(config, "is_multilingual", False) else None
        beams = {"num_beams": self.wishes.beam_size}
        return {**beams, "language": language, "task": "transcribe"} if language else beams


def _end(chunk: Any, sound: "Sound") -> float:
    """Return the end of a word; the last one may have none and ends with the recording."""
    end = chunk["timestamp"][1]
    return float(end) if end is not None else len(sound) / (SPEECH.sample_rate or 1)
