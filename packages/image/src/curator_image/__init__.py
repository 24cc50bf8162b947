"""Stages for pictures: readers, measures and filters, writers. Encoded bytes stay as they came."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from curator_image.batches import ImageBatch
    from curator_image.downloading import ImageDownloader
    from curator_image.folders.reading import ImageFolderReader
    from curator_image.folders.writing import ImageFolderWriter
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
    from curator_image.parquet import ImageParquetReader, ParquetWriter
    from curator_image.shards.reading import WebDatasetReader
    from curator_image.shards.writing import WebDatasetWriter
    from curator_image.views import WORKING, View

_HOMES = {
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
}

__all__ = [
    "WORKING",
    "AestheticFilter",
    "Captioner",
    "ClipScoreFilter",
    "EndpointCaptioner",
    "FaceBlurrer",
    "FaceDetector",
    "ImageBatch",
    "ImageDownloader",
    "ImageEmbedder",
    "ImageFolderReader",
    "ImageFolderWriter",
    "ImageParquetReader",
    "NSFWFilter",
    "ParquetWriter",
    "ScoreThreshold",
    "TextAreaFilter",
    "View",
    "WebDatasetReader",
    "WebDatasetWriter",
]


def __getattr__(name: str) -> Any:
    """Stages are imported when they are asked for: naming them all wakes no library."""
    if name in _HOMES:
        return getattr(import_module(f"curator_image.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
