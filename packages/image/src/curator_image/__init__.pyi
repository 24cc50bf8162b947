# Generated from the package's list of public names: run `hatch run generate`.
from curator_core import ParquetWriter as ParquetWriter
from curator_image.aspect_buckets import AspectBucketing as AspectBucketing
from curator_image.dedup.workflow import ImageDeduplicationWorkflow as ImageDeduplicationWorkflow
from curator_image.downloader import ImageDownloader as ImageDownloader
from curator_image.filters.base import ImageFilter as ImageFilter
from curator_image.filters.measures import ImageMeasures as ImageMeasures
from curator_image.filters.picture import Picture as Picture
from curator_image.filters.quality import BlurFilter as BlurFilter
from curator_image.filters.quality import BrightnessFilter as BrightnessFilter
from curator_image.filters.quality import ColorfulnessFilter as ColorfulnessFilter
from curator_image.filters.quality import ContrastFilter as ContrastFilter
from curator_image.filters.quality import EntropyFilter as EntropyFilter
from curator_image.filters.quality import UniformityFilter as UniformityFilter
from curator_image.filters.scoring import Filter as Filter
from curator_image.filters.scoring import Score as Score
from curator_image.filters.scoring import ScoreFilter as ScoreFilter
from curator_image.filters.size import AspectRatioFilter as AspectRatioFilter
from curator_image.filters.size import FileSizeFilter as FileSizeFilter
from curator_image.filters.size import FormatFilter as FormatFilter
from curator_image.filters.size import PixelCountFilter as PixelCountFilter
from curator_image.filters.size import SizeFilter as SizeFilter
from curator_image.filters.values import ScoreThreshold as ScoreThreshold
from curator_image.filters.values import ValueFilter as ValueFilter
from curator_image.hashing import PerceptualHash as PerceptualHash
from curator_image.image_batch import ImageBatch as ImageBatch
from curator_image.models.aesthetic import AestheticFilter as AestheticFilter
from curator_image.models.captioner import Captioner as Captioner
from curator_image.models.clip_score import ClipScoreFilter as ClipScoreFilter
from curator_image.models.embedder import ImageEmbedder as ImageEmbedder
from curator_image.models.endpoint_captioner import EndpointCaptioner as EndpointCaptioner
from curator_image.models.faces import FaceBlurrer as FaceBlurrer
from curator_image.models.faces import FaceDetector as FaceDetector
from curator_image.models.nsfw import NSFWFilter as NSFWFilter
from curator_image.models.ocr import TextAreaFilter as TextAreaFilter
from curator_image.models.ocr import WatermarkFilter as WatermarkFilter
from curator_image.pixel_view import View as View
from curator_image.pixel_view import WORKING as WORKING
from curator_image.readers.folder import ImageFolderReader as ImageFolderReader
from curator_image.readers.parquet import ImageParquetReader as ImageParquetReader
from curator_image.readers.webdataset import WebDatasetReader as WebDatasetReader
from curator_image.resize import ImageReencoder as ImageReencoder
from curator_image.resize import ImageResizer as ImageResizer
from curator_image.writers.folder import ImageFolderWriter as ImageFolderWriter
from curator_image.writers.webdataset import WebDatasetWriter as WebDatasetWriter

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
