"""Voice sources: choose between learned and cepstral voices."""

from typing import Literal, TypeAlias

from curator_models.weights import Packaged, WeightsFile

from curator_audio.speakers.voices import CepstralVoices, LearnedVoices, Voices

VoiceKind: TypeAlias = Literal["auto", "resemblyzer", "cepstra"]
"""auto: resemblyzer's network if it is installed, else statistics of cepstra."""

_WHEEL = Packaged("resemblyzer", "pretrained.pt")


def learned(weights: str | None) -> WeightsFile:
    return WeightsFile(
        "resemblyzer", "curator-audio[speakers]", (), weights, _WHEEL, "pretrained.pt"
    )


def is_learned(kind: VoiceKind, weights: str | None) -> bool:
    return (
        kind == "resemblyzer"
        or weights is not None
        or (kind == "auto" and _WHEEL.path() is not None)
    )


def voices(kind: VoiceKind, weights: str | None) -> Voices:
    return LearnedVoices(learned(weights)) if is_learned(kind, weights) else CepstralVoices()
