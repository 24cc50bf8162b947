"""What this package adds to Curator."""

from curator_core.hookspecs import hookimpl


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
    }
