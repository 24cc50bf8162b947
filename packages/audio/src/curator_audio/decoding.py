"""Decoding: recordings of any codec as blocks of samples, of any length."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from curator_core.io.filesystems import StorageOptions

from curator_audio.container import AudioSource, UndecodableError, open_container
from curator_audio.resampling import resample_blocks
from curator_audio.waveform import HIGHEST_RATE, AudioFormat, Waveform

if TYPE_CHECKING:
    from av import AudioFrame

    from curator_audio.waveform import Samples


MAX_CHANNELS = 64

_BLOCK_SECONDS = 10

_BLOCK_SAMPLES = 8 * 1024 * 1024
"""Samples in all channels together, so that many channels do not make a block larger."""

_FORMATS_WITH_LENGTH = ("wav", "w64", "flac", "mov", "aiff", "caf", "au")
"""Formats with the exact length in the header; for others FFmpeg estimates it."""

_MISSING_SECONDS, _MISSING_SHARE = 0.25, 0.01
"""Tolerance for missing audio, in seconds and as a share: headers include encoder padding."""

_BAD_PACKETS = 3

_SCALES = {"u8": 2.0**7, "s16": 2.0**15, "s32": 2.0**31, "s64": 2.0**63}


@dataclass(frozen=True)
class Track:
    """The audio stream of a file: its properties and its blocks of samples."""

    sample_rate: int
    channels: int
    codec: str
    blocks: "Iterator[Samples]"


def decode_blocks(
    source: AudioSource,
    audio_format: AudioFormat,
    storage_options: StorageOptions | None = None,
    on_length: Callable[[float], None] | None = None,
) -> Iterator[Waveform]:
    """Yield blocks of about ten seconds; raise UndecodableError if the file is damaged.

    `on_length` is called with the seconds from the header, before the first block.
    """
    with open_container(source, storage_options) as container:
        track = read_track(container)
        if on_length is not None:
            on_length(_header_seconds(container.streams.audio[0]))
        has_samples = False
        for wave in convert_blocks(track.blocks, track.sample_rate, audio_format):
            has_samples = has_samples or wave.samples.shape[1] > 0
            yield wave
        if not has_samples:
            raise UndecodableError("the recording has no samples")


def convert_blocks(
    blocks: "Iterable[Samples]", sample_rate: int, audio_format: AudioFormat
) -> Iterator[Waveform]:
    """Convert native blocks to a format."""
    rate = audio_format.sample_rate or sample_rate
    chosen = (_select_channels(block, audio_format) for block in blocks)
    for block in resample_blocks(chosen, sample_rate, rate, audio_format.quality):
        yield Waveform(block, rate)


def decode(
    source: AudioSource, audio_format: AudioFormat, storage_options: StorageOptions | None = None
) -> Waveform:
    """Decode a whole file at once; only for short files."""
    import numpy as np

    blocks = list(decode_blocks(source, audio_format, storage_options))
    joined = blocks[0].samples if len(blocks) == 1 else np.hstack([b.samples for b in blocks])
    return Waveform(joined, blocks[0].sample_rate)


def read_track(container: Any) -> Track:
    """Return the first audio stream of an open container."""
    stream = container.streams.audio[0]
    if stream.codec_context is None:
        raise UndecodableError("this FFmpeg does not support its audio codec")
    rate, channels = stream.codec_context.sample_rate, stream.codec_context.channels
    if not rate or not channels:
        raise UndecodableError("it has no readable audio, whatever its file extension says")
    if not 1 <= rate <= HIGHEST_RATE or not 1 <= channels <= MAX_CHANNELS:
        raise UndecodableError(
            f"its header says {rate} samples per second and {channels} channels; at most "
            f"{HIGHEST_RATE} and {MAX_CHANNELS} are supported"
        )
    frames = _frames(container, stream)
    if container.format.name.partition(",")[0] in _FORMATS_WITH_LENGTH:
        frames = _check_length(frames, _header_seconds(stream))
    return Track(rate, channels, stream.codec_context.name, _blocks(frames, rate, channels))


def describe_header(source: AudioSource) -> dict[str, Any]:
    """Return what the header says, without decoding: or why it cannot be read."""
    try:
        with open_container(source) as container:
            track, length = read_track(container), container.duration
    except UndecodableError as error:
        return {"problem": str(error)}
    seconds = {"duration": round(length / 1_000_000, 3)} if length else {}
    facts = {"sample_rate": track.sample_rate, "channels": track.channels, "codec": track.codec}
    return {**seconds, **facts}


def _frames(container: Any, stream: Any) -> "Iterator[AudioFrame]":
    """Yield frames until the end or until damage; ignore a few bad packets at the end.

    These are tags, or parts of a frame from when the encoder stopped. Players skip them as well.
    """
    import av

    seconds, bad = 0.0, 0
    damage: Exception | None = None
    for packet in _packets(container, stream):
        try:
            frames = packet if isinstance(packet, Exception) else packet.decode()
            if isinstance(frames, Exception):
                raise frames
        except (av.FFmpegError, ValueError, OverflowError) as error:
            damage, bad = error, bad + 1
            if bad > _BAD_PACKETS:
                raise _damage_error(seconds, damage) from None
            continue
        for frame in frames:
            if damage is not None:
                raise _damage_error(seconds, damage) from None
            yield frame
            seconds += frame.samples / (frame.sample_rate or 1)
    if damage is not None and not seconds:
        raise _damage_error(seconds, damage) from None


def _packets(container: Any, stream: Any) -> Iterator[Any]:
    """Yield packets, and finally the error that ended them, if any."""
    import av

    try:
        yield from container.demux(stream)
    except IndexError:
        return  # the end: av looks for packets of streams that appeared later
    except (av.FFmpegError, ValueError, OverflowError) as error:
        yield error


def _damage_error(seconds: float, error: Exception) -> UndecodableError:
    reason = getattr(error, "strerror", None) or str(error)
    return UndecodableError(f"damaged or cut off after {seconds:.2f} s: {reason}")


def _header_seconds(stream: Any) -> float:
    return float(stream.duration * stream.time_base) if stream.duration else 0.0


def _check_length(frames: "Iterator[AudioFrame]", expected: float) -> "Iterator[AudioFrame]":
    """Yield the frames; raise at the end if the header promised more."""
    seconds = 0.0
    for frame in frames:
        yield frame
        seconds += frame.samples / (frame.sample_rate or 1)
    if seconds < expected * (1 - _MISSING_SHARE) - _MISSING_SECONDS:
        raise UndecodableError(f"cut off after {seconds:.2f} s of {expected:.2f} s")


def _blocks(frames: "Iterable[AudioFrame]", rate: int, channels: int) -> "Iterator[Samples]":
    import numpy as np

    full = min(rate * _BLOCK_SECONDS, _BLOCK_SAMPLES // channels)
    waiting: list[Samples] = []
    held = position = 0
    for frame in frames:
        _check_unchanged(frame, rate, channels, position / rate)
        samples = _to_samples(frame)
        _check_finite(samples, position / rate)
        waiting.append(samples)
        held += samples.shape[1]
        position += samples.shape[1]
        if held >= full:
            yield np.hstack(waiting)
            waiting, held = [], 0
    if waiting:
        yield np.hstack(waiting)


def _check_unchanged(frame: "AudioFrame", rate: int, channels: int, seconds: float) -> None:
    if frame.sample_rate != rate or frame.layout.nb_channels != channels:
        raise UndecodableError(
            f"after {seconds:.2f} s the recording changes from {rate} to {frame.sample_rate} "
            f"samples per second, and from {channels} to {frame.layout.nb_channels} channels"
        )


def _check_finite(samples: "Samples", seconds: float) -> None:
    import numpy as np

    if not np.isfinite(samples).all():
        count = int(samples.size - np.isfinite(samples).sum())
        raise UndecodableError(f"{count} samples after {seconds:.2f} s are infinite or NaN")


def _to_samples(frame: "AudioFrame") -> "Samples":
    """Return samples as fractions of full scale, with a row per channel."""
    import numpy as np

    values = frame.to_ndarray()
    kind = frame.format.name.removesuffix("p")
    if not frame.format.is_planar:
        values = values.reshape(-1, frame.layout.nb_channels).T
    if kind == "u8":
        values = values.astype(np.float32) - 128.0
    scale = _SCALES.get(kind)
    plain: Samples = np.asarray(values, np.float32)
    if scale is not None:
        plain *= np.float32(1 / scale)
    return plain


def _select_channels(block: "Samples", audio_format: AudioFormat) -> "Samples":
    import numpy as np

    if audio_format.channels == "all" or (audio_format.channels == "mono" and block.shape[0] == 1):
        return block
    if audio_format.channels == "mono":
        mixed: Samples = block.mean(axis=0, keepdims=True, dtype=np.float32)
        return mixed
    number = int(audio_format.channels)
    if number >= block.shape[0]:
        raise UndecodableError(
            f"channel {number} does not exist: the recording has {block.shape[0]}, counted from 0"
        )
    return block[number : number + 1]
