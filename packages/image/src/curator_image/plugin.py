"""Plugin hooks: the stages, workflows, commands and reports of curator-image."""

from curator_core.plugins.hookspecs import hookimpl

_MODELS = "curator_image.models"


_SIZES = "curator_image.measuring.sizes"
_QUALITIES = "curator_image.measuring.qualities"


@hookimpl
def curator_reports() -> dict[str, str]:
    return {"image.pictures": "curator_image.reporting.exhibits:pictures"}


@hookimpl
def curator_commands() -> dict[str, str]:
    return {"image.report": "curator_image.reporting.commands:report"}


@hookimpl
def curator_workflows() -> dict[str, str]:
    workflows = "curator_image.duplicates.workflows"
    return {"image.deduplication": f"{workflows}:ImageDeduplicationWorkflow"}


@hookimpl
def curator_stages() -> dict[str, str]:
    return {
        "image.folder_reader": "curator_image.folders.reading:ImageFolderReader",
        "image.folder_writer": "curator_image.folders.writing:ImageFolderWriter",
        "image.downloader": "curator_image.downloading:ImageDownloader",
        "image.parquet_reader": "curator_image.parquet:ImageParquetReader",
        "image.parquet_writer": "curator_image.parquet:ParquetWriter",
        "image.web_dataset_reader": "curator_image.shards.reading:WebDatasetReader",
        "image.web_dataset_writer": "curator_image.shards.writing:WebDatasetWriter",
        "image.size_filter": f"{_SIZES}:SizeFilter",
        "image.pixel_count_filter": f"{_SIZES}:PixelCountFilter",
        "image.aspect_ratio_filter": f"{_SIZES}:AspectRatioFilter",
        "image.file_size_filter": f"{_SIZES}:FileSizeFilter",
        "image.format_filter": f"{_SIZES}:FormatFilter",
        "image.blur_filter": f"{_QUALITIES}:BlurFilter",
        "image.brightness_filter": f"{_QUALITIES}:BrightnessFilter",
        "image.contrast_filter": f"{_QUALITIES}:ContrastFilter",
        "image.entropy_filter": f"{_QUALITIES}:EntropyFilter",
        "image.uniformity_filter": f"{_QUALITIES}:UniformityFilter",
        "image.colorfulness_filter": f"{_QUALITIES}:ColorfulnessFilter",
        "image.value_filter": "curator_image.measuring.values:ValueFilter",
        "image.measures": "curator_image.measuring.columns:ImageMeasures",
        "image.perceptual_hash": "curator_image.hashing.stages:PerceptualHash",
        "image.resizer": "curator_image.resizing.stages:ImageResizer",
        "image.reencoder": "curator_image.resizing.stages:ImageReencoder",
        "image.aspect_bucketing": "curator_image.resizing.buckets:AspectBucketing",
        "image.aesthetic_filter": f"{_MODELS}.aesthetics:AestheticFilter",
        "image.captioner": f"{_MODELS}.vision_language:Captioner",
        "image.clip_score_filter": f"{_MODELS}.matching:ClipScoreFilter",
        "image.endpoint_captioner": f"{_MODELS}.captioning:EndpointCaptioner",
        "image.face_blurrer": f"{_MODELS}.blurring_faces:FaceBlurrer",
        "image.face_detector": f"{_MODELS}.faces:FaceDetector",
        "image.image_embedder": f"{_MODELS}.embedding:ImageEmbedder",
        "image.nsfw_filter": f"{_MODELS}.nudity:NSFWFilter",
        "image.score_threshold": f"{_MODELS}.thresholds:ScoreThreshold",
        "image.text_area_filter": f"{_MODELS}.text_areas:TextAreaFilter",
        "image.watermark_filter": f"{_MODELS}.watermarks:WatermarkFilter",
    }
