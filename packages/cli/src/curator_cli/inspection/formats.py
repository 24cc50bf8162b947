"""File formats: by name, and by the first bytes of files whose names say nothing."""

import gzip
import json
import tarfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath

from curator_core.errors import InputError
from curator_core.io.compression import COMPRESSIONS, compression_of
from curator_core.io.filesystems import open_input
from curator_core.io.readers import JSONL_ENDINGS

from curator_cli.inspection.goals import Kind


@dataclass(frozen=True)
class Format:
    """A file format, and the stage that reads it."""

    name: str
    """What one of the files is called."""

    kind: Kind
    reader: str
    endings: tuple[str, ...]
    """File extensions that the reader accepts without options."""

    @property
    def package(self) -> str:
        return f"curator-{self.reader.partition('.')[0]}"


def _with_compressed(*plain: str) -> tuple[str, ...]:
    return (*plain, *(f"{one}.{kind}" for one in plain for kind in COMPRESSIONS))


JSONL = Format("JSON Lines file", "text", "text.jsonl_reader", JSONL_ENDINGS)
PARQUET = Format("Parquet file", "text", "text.parquet_reader", (".parquet",))
CSV = Format("CSV file", "text", "text.csv_reader", _with_compressed(".csv"))
TSV = Format("TSV file", "text", "text.tsv_reader", _with_compressed(".tsv", ".tab"))
PLAIN = Format("text file", "text", "text.text_reader", _with_compressed(".txt", ".text"))
WET = Format("WET file", "text", "text.wet_reader", (".wet", ".wet.gz"))
WARC = Format("WARC file", "text", "text.warc_reader", (".warc", ".warc.gz"))
IMAGE = Format("picture", "images", "image.folder_reader", (
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".gif", ".avif", ".tif", ".tiff", ".bmp",
    ".heic", ".heif",
))  # fmt: skip
AUDIO = Format("recording", "audio", "audio.audio_folder_reader", (
    ".wav", ".flac", ".mp3", ".m4a", ".aac", ".ogg", ".oga", ".opus", ".amr", ".wma",
))  # fmt: skip
VIDEO = Format("video", "video", "video.video_reader", (
    ".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".ts",
))  # fmt: skip
IMAGE_SHARD = Format("picture shard", "images", "image.web_dataset_reader",
                     (".tar",))  # fmt: skip
AUDIO_SHARD = Format("audio shard", "audio", "audio.shard_reader", (".tar",))
VIDEO_SHARD = Format("video shard", "video", "video.video_reader", (".tar",))
MANIFEST = Format("audio manifest", "audio", "audio.manifest_reader", JSONL_ENDINGS)

BY_NAME = (WET, WARC, JSONL, PARQUET, CSV, TSV, PLAIN, IMAGE, AUDIO, VIDEO)
_SHARDS = {IMAGE: IMAGE_SHARD, AUDIO: AUDIO_SHARD, VIDEO: VIDEO_SHARD}

_HEAD = 4096
_MOST_MEMBERS = 30
_AUDIO_PATH = "audio_filepath"


def format_by_name(path: str) -> Format | None:
    """Return the format of a file by its extension; `.json` and `.tar` need a look inside."""
    lowered = path.lower()
    return next((one for one in BY_NAME if lowered.endswith(one.endings)), None)


def extension_of(path: str) -> str:
    """Return the extension in lower case, with that of a compression: `.jsonl.gz`."""
    name = PurePosixPath(path.lower())
    last = name.suffix
    if compression_of(path) and len(name.suffixes) > 1:
        return name.suffixes[-2] + last
    return last


def needs_a_look(extension: str) -> bool:
    """Return whether files with this extension may hold one of several formats."""
    return extension == ".tar" or extension.endswith(JSONL_ENDINGS)


def format_by_content(path: str) -> Format | None:
    """Return the format of a file by what it contains."""
    if path.lower().endswith(".tar"):
        return _format_of_shard(path)
    head = first_bytes(path)
    by_signature = _format_by_signature(head)
    if by_signature is not None:
        return by_signature
    return _format_of_lines(head)


def first_bytes(path: str) -> bytes:
    """Return the first bytes, decompressed; nothing if the file cannot be read."""
    with suppress(OSError, EOFError, InputError), open_input(path) as file:
        head = file.read(_HEAD)
        if not head.startswith(b"\x1f\x8b"):
            return bytes(head)
        file.seek(0)
        with gzip.GzipFile(fileobj=file) as inner:
            return inner.read(_HEAD)
    return b""


def _format_by_signature(head: bytes) -> Format | None:
    found = next((kind for start, kind in _SIGNATURES if head.startswith(start)), None)
    if found is not None:
        return found
    if head[:4] == b"RIFF":
        return {b"WAVE": AUDIO, b"WEBP": IMAGE, b"AVI ": VIDEO}.get(head[8:12])
    if head[4:8] == b"ftyp":
        return IMAGE if head[8:12] in (b"avif", b"heic", b"mif1") else VIDEO
    return None


_SIGNATURES: Sequence[tuple[bytes, Format]] = (
    (b"PAR1", PARQUET),
    (b"WARC/1.", WARC),
    (b"\xff\xd8\xff", IMAGE),
    (b"\x89PNG", IMAGE),
    (b"GIF8", IMAGE),
    (b"fLaC", AUDIO),
    (b"OggS", AUDIO),
    (b"ID3", AUDIO),
    (b"\x1aE\xdf\xa3", VIDEO),
)


def _format_of_lines(head: bytes) -> Format | None:
    """Tell JSON Lines from a manifest of recordings; a line may be longer than the head."""
    line = head.lstrip().partition(b"\n")[0].rstrip()
    if not line.startswith(b"{") or line == b"{":
        return None
    is_manifest = f'"{_AUDIO_PATH}"'.encode() in line
    try:
        record = json.loads(line)
    except ValueError:
        is_cut = len(line) >= _HEAD - 16
        return (MANIFEST if is_manifest else JSONL) if is_cut else None
    return (MANIFEST if _AUDIO_PATH in record else JSONL) if isinstance(record, dict) else None


def _format_of_shard(path: str) -> Format | None:
    """Return what most of the first members of a tar file are."""
    with suppress(tarfile.TarError, OSError, EOFError, InputError), open_input(path) as file:
        with tarfile.open(fileobj=file, mode="r|") as archive:
            names = [member.name for member in islice(archive, _MOST_MEMBERS) if member.isfile()]
        found = Counter(kind for name in names if (kind := format_by_name(name)) in _SHARDS)
        return _SHARDS[found.most_common(1)[0][0]] if found else None
    return None
