"""Audio containers: open files or bytes in safe formats; truncated files are refused."""

import errno
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from curator_core import CuratorError, InputError
from curator_core.errors import UnavailableError, reason_of
from curator_core.io.filesystems import StorageOptions, local_path
from curator_core.io.record_paths import check_record_path, open_record_path

from curator_audio.truncation import find_truncation

if TYPE_CHECKING:
    from av.container import InputContainer


AudioSource: TypeAlias = str | bytes
"""A path or URL, or the encoded bytes."""

FORMATS = (
    "aac,ac3,aiff,amr,amrnb,amrwb,ape,asf,au,avi,caf,eac3,flac,flv,gsm,matroska,mov,mp3,mpeg,"
    "mpegts,mpc,ogg,tta,voc,w64,wav,webm,wv,xwma"
)
"""Formats to read. Playlists are excluded, since they can name any file of the machine."""

_OPTIONS = {"format_whitelist": FORMATS, "protocol_whitelist": "file"}

_WAV_OPTIONS = {**_OPTIONS, "max_probe_packets": "2"}
"""Samples in a WAV may be DTS; two packets suffice to detect it, FFmpeg's default is 2,500."""


class UndecodableError(InputError):
    """A recording that cannot be decoded."""


class UnreachableError(UndecodableError, UnavailableError):
    """A recording that cannot be reached now, but may be reachable later."""


@contextmanager
def open_container(
    source: AudioSource, storage_options: StorageOptions | None = None
) -> "Iterator[InputContainer]":
    """Open a container to decode from; raise UndecodableError if it is invalid."""
    import av

    file = _file(source, storage_options)
    try:
        if not file.read(1):
            raise UndecodableError("the file is empty (0 bytes)")
        file.seek(0)
        head = file.read(12)
        if (sizes := find_truncation(file)) is not None:
            raise UndecodableError(f"cut off after {sizes[0]} of {sizes[1]} bytes")
        with _container(file, av, head) as container:
            yield container
    except av.FFmpegError as error:
        raise UndecodableError(_describe_error(error)) from None
    finally:
        file.close()


_BAD_NAMES = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.ELOOP, errno.EINVAL}
"""Errors that mean a name is invalid. Other errors may affect every row."""


def _file(source: AudioSource, storage_options: StorageOptions | None) -> BinaryIO:
    """Open a file; raise UndecodableError if only this row's name or storage is at fault."""
    if isinstance(source, bytes | memoryview):
        return io.BytesIO(source)
    plain = local_path(source)
    return _open_remote(source, storage_options) if plain is None else _open_local(plain)


def _open_local(path: str) -> BinaryIO:
    try:
        check_record_path(path)
        return open(path, "rb")
    except CuratorError as error:
        raise UndecodableError(str(error)) from None
    except FileNotFoundError:
        raise UnreachableError("the file does not exist") from None
    except IsADirectoryError:
        raise UndecodableError("it is a folder, not a file") from None
    except PermissionError:
        raise UnreachableError("permission denied; allow reading it") from None
    except OSError as error:
        if error.errno not in _BAD_NAMES:
            raise
        raise UndecodableError(f"not a valid file name: {error.strerror}") from None


def _open_remote(source: str, storage_options: StorageOptions | None) -> BinaryIO:
    try:
        return cast(BinaryIO, _RemoteFile(open_record_path(source, storage_options)))
    except UnavailableError as error:
        raise UnreachableError(str(error)) from None
    except CuratorError as error:
        raise UndecodableError(str(error)) from None
    except Exception as error:  # noqa: BLE001 - each storage has its own errors
        raise UndecodableError(f"cannot open {source}: {reason_of(error)}") from None


class _RemoteFile:
    """A remote file whose read errors affect only this recording."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        try:
            return self._file.read(size)
        except Exception as error:  # noqa: BLE001 - each storage has its own errors
            raise UnreachableError(f"reading failed: {reason_of(error)}") from None

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return self._file.seekable()

    def close(self) -> None:
        self._file.close()


def _container(file: BinaryIO, av: Any, head: bytes) -> "InputContainer":
    is_wav = head[:4] == b"RIFF" and head[8:] == b"WAVE"
    options = dict(_WAV_OPTIONS if is_wav else _OPTIONS)
    try:
        container: InputContainer = av.open(file, "r", options=options, metadata_errors="replace")
    except (av.FFmpegError, ValueError, OverflowError) as error:
        if head[4:8] == b"ftyp":
            raise UndecodableError(
                "its index (moov) is missing or damaged: the file was cut off, or its recording "
                "was never finished"
            ) from None
        raise UndecodableError(
            f"not audio in a supported format ({_describe_error(error)}); the format is detected "
            "from the content, whatever the file extension says"
        ) from None
    if not container.streams.audio:
        container.close()
        raise UndecodableError("the file has no audio stream")
    return container


def _describe_error(error: Exception) -> str:
    text = str(getattr(error, "strerror", None) or error or type(error).__name__)
    return text[:1].lower() + text[1:]
