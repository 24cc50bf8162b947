"""What this package adds to Curator."""

from curator_core.hookspecs import hookimpl

_MODELS = "curator_image.models"


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
    }
