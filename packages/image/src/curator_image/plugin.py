"""Plugin hooks: the stages, workflows, commands and reports of curator-image."""

from curator_core import hookimpl

_READERS = "curator_image.readers"
_WRITERS = "curator_image.writers"
_FILTERS = "curator_image.filters"
_MODELS = "curator_image.models"

EXPORTS = {
    "curator_image.image_batch": ("ImageBatch",),
    "curator_image.filters.base": ("ImageFilter",),
    "curator_image.filters.picture": ("Picture",),
    "curator_image.filters.scoring": (
        "Filter",
        "Score",
        "ScoreFilter",
    ),
    "curator_image.pixel_view": (
        "View",
        "WORKING",
    ),
}
"""Public names besides what the hooks register, by module."""


@hookimpl
def curator_report_sections() -> dict[str, str]:
    return {"image.pictures": "curator_image.report.section:pictures_section"}


@hookimpl
def curator_commands() -> dict[str, str]:
    return {"image.report": "curator_image.commands:report"}


@hookimpl
def curator_workflows() -> dict[str, str]:
    return {"image.deduplication": "curator_image.dedup.workflow:ImageDeduplicationWorkflow"}


@hookimpl
def curator_stages() -> dict[str, str]:
    return {
        "image.folder_reader": f"{_READERS}.folder:ImageFolderReader",
        "image.folder_writer": f"{_WRITERS}.folder:ImageFolderWriter",
        "image.downloader": "curator_image.downloader:ImageDownloader",
        "image.parquet_reader": f"{_READERS}.parquet:ImageParquetReader",
        "image.parquet_writer": "curator_core:ParquetWriter",
        "image.web_dataset_reader": f"{_READERS}.webdataset:WebDatasetReader",
        "image.web_dataset_writer": f"{_WRITERS}.webdataset:WebDatasetWriter",
        "image.size_filter": f"{_FILTERS}.size:SizeFilter",
        "image.pixel_count_filter": f"{_FILTERS}.size:PixelCountFilter",
        "image.aspect_ratio_filter": f"{_FILTERS}.size:AspectRatioFilter",
        "image.file_size_filter": f"{_FILTERS}.size:FileSizeFilter",
        "image.format_filter": f"{_FILTERS}.size:FormatFilter",
        "image.blur_filter": f"{_FILTERS}.quality:BlurFilter",
        "image.brightness_filter": f"{_FILTERS}.quality:BrightnessFilter",
        "image.contrast_filter": f"{_FILTERS}.quality:ContrastFilter",
        "image.entropy_filter": f"{_FILTERS}.quality:EntropyFilter",
        "image.uniformity_filter": f"{_FILTERS}.quality:UniformityFilter",
        "image.colorfulness_filter": f"{_FILTERS}.quality:ColorfulnessFilter",
        "image.value_filter": f"{_FILTERS}.values:ValueFilter",
        "image.measures": f"{_FILTERS}.measures:ImageMeasures",
        "image.perceptual_hash": "curator_image.hashing:PerceptualHash",
        "image.resizer": "curator_image.resize:ImageResizer",
        "image.reencoder": "curator_image.resize:ImageReencoder",
        "image.aspect_bucketing": "curator_image.aspect_buckets:AspectBucketing",
        "image.aesthetic_filter": f"{_MODELS}.aesthetic:AestheticFilter",
        "image.captioner": f"{_MODELS}.captioner:Captioner",
        "image.clip_score_filter": f"{_MODELS}.clip_score:ClipScoreFilter",
        "image.endpoint_captioner": f"{_MODELS}.endpoint_captioner:EndpointCaptioner",
        "image.face_blurrer": f"{_MODELS}.faces:FaceBlurrer",
        "image.face_detector": f"{_MODELS}.faces:FaceDetector",
        "image.image_embedder": f"{_MODELS}.embedder:ImageEmbedder",
        "image.nsfw_filter": f"{_MODELS}.nsfw:NSFWFilter",
        "image.score_threshold": f"{_FILTERS}.values:ScoreThreshold",
        "image.text_area_filter": f"{_MODELS}.ocr:TextAreaFilter",
        "image.watermark_filter": f"{_MODELS}.ocr:WatermarkFilter",
    }
