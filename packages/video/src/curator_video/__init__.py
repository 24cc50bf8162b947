"""Stages for videos: a reader, splitters, clip filters, cutting and writing."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from curator_video.analysis.wants import Sampling, Wanted
    from curator_video.captioning.endpoints import EndpointCaptionEnhancer, EndpointClipCaptioner
    from curator_video.captioning.local import CaptionEnhancer, ClipCaptioner
    from curator_video.clips import Clip
    from curator_video.cutting.stages import ClipCutter
    from curator_video.embedding.clips import VideoModelEmbedder
    from curator_video.embedding.frames import ClipEmbedder
    from curator_video.facts import AudioFacts, VideoFacts
    from curator_video.filters.models import AestheticFilter, NSFWFilter, TextAreaFilter
    from curator_video.filters.motion import MotionFilter
    from curator_video.filters.pictures import BlackFilter, BlurFilter, FreezeFilter
    from curator_video.filters.shapes import DurationFilter, ResolutionFilter
    from curator_video.previewing import ClipPreviewer
    from curator_video.probing import probe
    from curator_video.reading import VideoReader
    from curator_video.sharing import LookingStage
    from curator_video.sources import VideoSource
    from curator_video.splitting.borrowing import SceneDetectShotSplitter
    from curator_video.splitting.learned import TransNetShotSplitter
    from curator_video.splitting.shots import HistogramShotSplitter
    from curator_video.splitting.stride import FixedStrideSplitter
    from curator_video.videos import Video
    from curator_video.writing.stages import ClipWriter
    from curator_video.writing.tars import ClipShardWriter

__all__ = [
    "AestheticFilter",
    "AudioFacts",
    "BlackFilter",
    "BlurFilter",
    "CaptionEnhancer",
    "Clip",
    "ClipCaptioner",
    "ClipCutter",
    "ClipEmbedder",
    "ClipPreviewer",
    "ClipShardWriter",
    "ClipWriter",
    "DurationFilter",
    "EndpointCaptionEnhancer",
    "EndpointClipCaptioner",
    "FixedStrideSplitter",
    "FreezeFilter",
    "HistogramShotSplitter",
    "LookingStage",
    "MotionFilter",
    "NSFWFilter",
    "ResolutionFilter",
    "Sampling",
    "SceneDetectShotSplitter",
    "TextAreaFilter",
    "TransNetShotSplitter",
    "Video",
    "VideoFacts",
    "VideoModelEmbedder",
    "VideoReader",
    "VideoSource",
    "Wanted",
    "probe",
]

_HOMES: dict[str, tuple[str, ...]] = {
    "analysis.wants": ("Sampling", "Wanted"),
    "captioning.endpoints": ("EndpointCaptionEnhancer", "EndpointClipCaptioner"),
    "captioning.local": ("CaptionEnhancer", "ClipCaptioner"),
    "clips": ("Clip",),
    "cutting.stages": ("ClipCutter",),
    "embedding.clips": ("VideoModelEmbedder",),
    "embedding.frames": ("ClipEmbedder",),
    "filters.models": ("AestheticFilter", "NSFWFilter", "TextAreaFilter"),
    "facts": ("AudioFacts", "VideoFacts"),
    "filters.motion": ("MotionFilter",),
    "filters.pictures": ("BlackFilter", "BlurFilter", "FreezeFilter"),
    "filters.shapes": ("DurationFilter", "ResolutionFilter"),
    "previewing": ("ClipPreviewer",),
    "probing": ("probe",),
    "reading": ("VideoReader",),
    "sharing": ("LookingStage",),
    "sources": ("VideoSource",),
    "splitting.borrowing": ("SceneDetectShotSplitter",),
    "splitting.learned": ("TransNetShotSplitter",),
    "splitting.shots": ("HistogramShotSplitter",),
    "splitting.stride": ("FixedStrideSplitter",),
    "videos": ("Video",),
    "writing.stages": ("ClipWriter",),
    "writing.tars": ("ClipShardWriter",),
}


def __getattr__(name: str) -> Any:
    """Import stages on first access, so that importing this package loads no heavy library."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"curator_video.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
