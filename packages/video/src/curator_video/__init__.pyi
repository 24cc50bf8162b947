# Generated from the package's list of public names: run `hatch run generate`.
from curator_video.analysis.frame_stage import FrameStage as FrameStage
from curator_video.analysis.measurements import FrameNeeds as FrameNeeds
from curator_video.analysis.sampling import Sampling as Sampling
from curator_video.captions.endpoints import EndpointCaptionEnhancer as EndpointCaptionEnhancer
from curator_video.captions.endpoints import EndpointClipCaptioner as EndpointClipCaptioner
from curator_video.captions.local import CaptionEnhancer as CaptionEnhancer
from curator_video.captions.local import ClipCaptioner as ClipCaptioner
from curator_video.cutting.cutter import ClipCutter as ClipCutter
from curator_video.embeddings.embedders import ClipEmbedder as ClipEmbedder
from curator_video.embeddings.embedders import VideoModelEmbedder as VideoModelEmbedder
from curator_video.filters.base import ClipFilter as ClipFilter
from curator_video.filters.models import AestheticFilter as AestheticFilter
from curator_video.filters.models import NSFWFilter as NSFWFilter
from curator_video.filters.models import TextAreaFilter as TextAreaFilter
from curator_video.filters.motion import MotionFilter as MotionFilter
from curator_video.filters.quality import BlackFilter as BlackFilter
from curator_video.filters.quality import BlurFilter as BlurFilter
from curator_video.filters.quality import FreezeFilter as FreezeFilter
from curator_video.filters.scoring import Filter as Filter
from curator_video.filters.scoring import Score as Score
from curator_video.filters.scoring import ScoreFilter as ScoreFilter
from curator_video.filters.size import DurationFilter as DurationFilter
from curator_video.filters.size import ResolutionFilter as ResolutionFilter
from curator_video.fixed_stride import FixedStrideSplitter as FixedStrideSplitter
from curator_video.previews import ClipPreviewer as ClipPreviewer
from curator_video.probing import AudioFacts as AudioFacts
from curator_video.probing import VideoFacts as VideoFacts
from curator_video.probing import probe as probe
from curator_video.reader import VideoReader as VideoReader
from curator_video.scenes.histogram import HistogramShotSplitter as HistogramShotSplitter
from curator_video.scenes.pyscenedetect import SceneDetectShotSplitter as SceneDetectShotSplitter
from curator_video.scenes.transnet import TransNetShotSplitter as TransNetShotSplitter
from curator_video.source import VideoSource as VideoSource
from curator_video.tasks import Clip as Clip
from curator_video.tasks import Video as Video
from curator_video.writers.clip_writer import ClipWriter as ClipWriter
from curator_video.writers.shard_writer import ClipShardWriter as ClipShardWriter

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
    "ClipFilter",
    "ClipPreviewer",
    "ClipShardWriter",
    "ClipWriter",
    "DurationFilter",
    "EndpointCaptionEnhancer",
    "EndpointClipCaptioner",
    "Filter",
    "FixedStrideSplitter",
    "FrameNeeds",
    "FrameStage",
    "FreezeFilter",
    "HistogramShotSplitter",
    "MotionFilter",
    "NSFWFilter",
    "ResolutionFilter",
    "Sampling",
    "SceneDetectShotSplitter",
    "Score",
    "ScoreFilter",
    "TextAreaFilter",
    "TransNetShotSplitter",
    "Video",
    "VideoFacts",
    "VideoModelEmbedder",
    "VideoReader",
    "VideoSource",
    "probe",
]
