"""Stages for pictures: readers, measures and filters, writers. Encoded bytes are kept unchanged."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from curator_image.batches import ImageBatch
    from curator_image.downloading import ImageDownloader
    from curator_image.duplicates.workflows import ImageDeduplicationWorkflow
    from curator_image.folders.reading import ImageFolderReader
    from curator_image.folders.writing import ImageFolderWriter
    from curator_image.hashing.stages import PerceptualHash
    from curator_image.measuring.columns import ImageMeasures
    from curator_image.measuring.filtering import ImageFilter
    from curator_image.measuring.pictures import Picture
    from curator_image.measuring.qualities import (
        BlurFilter,
        BrightnessFilter,
        ColorfulnessFilter,
        ContrastFilter,
        EntropyFilter,
        UniformityFilter,
    )
    from curator_image.measuring.scoring import Filter, Score, ScoreFilter
    from curator_image.measuring.sizes import (
        AspectRatioFilter,
        FileSizeFilter,
        FormatFilter,
        PixelCountFilter,
        SizeFilter,
    )
    from curator_image.measuring.values import ValueFilter
    from curator_image.models.aesthetics import AestheticFilter
    from curator_image.models.blurring_faces import FaceBlurrer
    from curator_image.models.captioning import EndpointCaptioner
    from curator_image.models.embedding import ImageEmbedder
    from curator_image.models.faces import FaceDetector
    from curator_image.models.matching import ClipScoreFilter
    from curator_image.models.nudity import NSFWFilter
    from curator_image.models.text_areas import TextAreaFilter
    from curator_image.models.thresholds import ScoreThreshold
    from curator_image.models.vision_language import Captioner
    from curator_image.models.watermarks import WatermarkFilter
    from curator_image.parquet import ImageParquetReader, ParquetWriter
    from curator_image.resizing.buckets import AspectBucketing
    from curator_image.resizing.stages import ImageReencoder, ImageResizer
    from curator_image.shards.reading import WebDatasetReader
    from curator_image.shards.writing import WebDatasetWriter
    from curator_image.views import WORKING, View

_HOMES = {
    "AspectBucketing": "resizing.buckets",
    "AspectRatioFilter": "measuring.sizes",
    "BlurFilter": "measuring.qualities",
    "BrightnessFilter": "measuring.qualities",
    "ColorfulnessFilter": "measuring.qualities",
    "ContrastFilter": "measuring.qualities",
    "EntropyFilter": "measuring.qualities",
    "FileSizeFilter": "measuring.sizes",
    "Filter": "measuring.scoring",
    "FormatFilter": "measuring.sizes",
    "ImageDeduplicationWorkflow": "duplicates.workflows",
    "ImageFilter": "measuring.filtering",
    "ImageMeasures": "measuring.columns",
    "ImageReencoder": "resizing.stages",
    "ImageResizer": "resizing.stages",
    "PerceptualHash": "hashing.stages",
    "Picture": "measuring.pictures",
    "PixelCountFilter": "measuring.sizes",
    "Score": "measuring.scoring",
    "ScoreFilter": "measuring.scoring",
    "SizeFilter": "measuring.sizes",
    "UniformityFilter": "measuring.qualities",
    "ValueFilter": "measuring.values",
    "ImageBatch": "batches",
    "ImageDownloader": "downloading",
    "ImageFolderReader": "folders.reading",
    "ImageFolderWriter": "folders.writing",
    "ImageParquetReader": "parquet",
    "ParquetWriter": "parquet",
    "View": "views",
    "WORKING": "views",
    "WebDatasetReader": "shards.reading",
    "WebDatasetWriter": "shards.writing",
    "AestheticFilter": "models.aesthetics",
    "Captioner": "models.vision_language",
    "ClipScoreFilter": "models.matching",
    "EndpointCaptioner": "models.captioning",
    "FaceBlurrer": "models.blurring_faces",
    "FaceDetector": "models.faces",
    "ImageEmbedder": "models.embedding",
    "NSFWFilter": "models.nudity",
    "ScoreThreshold": "models.thresholds",
    "TextAreaFilter": "models.text_areas",
    "WatermarkFilter": "models.watermarks",
}

__all__ = [
    "WORKING",
    "AestheticFilter",
    "AspectBucketing",
    "AspectRatioFilter",
    "BlurFilter",
    "BrightnessFilter",
    "Captioner",
    "ClipScoreFilter",
    "ColorfulnessFilter",
    "ContrastFilter",
    "EndpointCaptioner",
    "EntropyFilter",
    "FaceBlurrer",
    "FaceDetector",
    "FileSizeFilter",
    "Filter",
    "FormatFilter",
    "ImageBatch",
    "ImageDeduplicationWorkflow",
    "ImageDownloader",
    "ImageEmbedder",
    "ImageFilter",
    "ImageFolderReader",
    "ImageFolderWriter",
    "ImageMeasures",
    "ImageParquetReader",
    "ImageReencoder",
    "ImageResizer",
    "NSFWFilter",
    "ParquetWriter",
    "PerceptualHash",
    "Picture",
    "PixelCountFilter",
    "Score",
    "ScoreFilter",
    "ScoreThreshold",
    "SizeFilter",
    "TextAreaFilter",
    "UniformityFilter",
    "ValueFilter",
    "View",
    "WatermarkFilter",
    "WebDatasetReader",
    "WebDatasetWriter",
]


def __getattr__(name: str) -> Any:
    """Import stages on first access, so that importing this package loads no heavy library."""
    if name in _HOMES:
        return getattr(import_module(f"curator_image.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
