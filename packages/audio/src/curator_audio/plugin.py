"""What this package adds to Curator, by name; nothing of it is imported before it is used."""

from curator_core import hookimpl


@hookimpl
def curator_stages() -> dict[str, str]:
    return {
        "audio.audio_folder_reader": "curator_audio.reading.folders:AudioFolderReader",
        "audio.manifest_reader": "curator_audio.reading.manifests:ManifestReader",
        "audio.manifest_writer": "curator_audio.writing.manifests:ManifestWriter",
    }
