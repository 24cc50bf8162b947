"""Encoders: their options and presets, and starting them safely."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from pathlib import Path

from curator_core.errors import CuratorError, hint

_X264 = (
    "threads=1:lookahead-threads=1:"  # workers run in parallel
    "cpu-independent=1"  # output with AVX-512 varies between runs and machines
)

_DEFAULTS: dict[str, dict[str, str]] = {
    "libx264": {
        "preset": "veryfast",
        "crf": "23",
        "x264-params": _X264,
    },
    "libx265": {"preset": "veryfast", "crf": "28", "x265-params": "log-level=none"},
    "libsvtav1": {"preset": "10", "crf": "35"},
    "libvpx-vp9": {"deadline": "realtime", "cpu-used": "8", "crf": "31", "b": "0", "row-mt": "1"},
    "h264_nvenc": {"preset": "p4", "rc": "vbr", "cq": "23"},
    "hevc_nvenc": {"preset": "p4", "rc": "vbr", "cq": "28"},
    "av1_nvenc": {"preset": "p4", "rc": "vbr", "cq": "35"},
    "mpeg4": {"qscale": "5", "flags": "+qscale"},
}

_DEFAULTS_WITHOUT_PRESET = {"libx264": {"x264-params": f"{_X264}:partitions=i8x8,i4x4:subme=1"}}
"""Defaults without a named preset: two thirds of the time of veryfast, for 8 % more bytes at 0.4 dB
less.

The other savings of superfast, such as no lookahead, save little time and cost a lot."""

_QUALITY_RANGES = {
    "libx264": (0, 51),
    "libx265": (0, 51),
    "libsvtav1": (0, 63),
    "libvpx-vp9": (0, 63),
    "h264_nvenc": (0, 51),
    "hevc_nvenc": (0, 51),
    "av1_nvenc": (0, 51),
    "mpeg4": (1, 31),
}
"""The best and the worst value. x264 silently clips values beyond its worst."""

_INTEGER_QUALITY = ("libsvtav1", "libvpx-vp9")
_X26_PRESETS = (
    *("ultrafast", "superfast", "veryfast", "faster", "fast"),
    *("medium", "slow", "slower", "veryslow", "placebo"),
)

_NVENC_PRESETS = (*(f"p{number}" for number in range(1, 8)), "fast", "medium", "slow")
_PRESETS: dict[str, Sequence[str]] = {
    "libx264": _X26_PRESETS,
    "libx265": _X26_PRESETS,
    "libsvtav1": tuple(str(number) for number in range(14)),
    "libvpx-vp9": tuple(str(number) for number in range(9)),
    "h264_nvenc": _NVENC_PRESETS,
    "hevc_nvenc": _NVENC_PRESETS,
    "av1_nvenc": _NVENC_PRESETS,
    "mpeg4": (),
}

_PRESET_OPTION = {"libvpx-vp9": "cpu-used"}
_QUALITY_OPTION = {"h264_nvenc": "cq", "hevc_nvenc": "cq", "av1_nvenc": "cq", "mpeg4": "qscale"}


@dataclass(frozen=True)
class VideoEncoder:
    """An encoder by its FFmpeg name, with preset and quality."""

    name: str = "libx264"
    preset: str | None = None
    quality: float | None = None

    @property
    def options(self) -> dict[str, str]:
        options = dict(_DEFAULTS.get(self.name, {}))
        if self.preset is not None:
            options[_PRESET_OPTION.get(self.name, "preset")] = self.preset
        else:
            options |= _DEFAULTS_WITHOUT_PRESET.get(self.name, {})
        if self.quality is not None:
            options[_QUALITY_OPTION.get(self.name, "crf")] = f"{self.quality:g}"
        return options

    def problems(self) -> Iterator[str]:
        """Yield values that the encoder would refuse or misinterpret, as far as known here."""
        best, worst = _QUALITY_RANGES.get(self.name, (-inf, inf))
        if self.quality is not None and not best <= self.quality <= worst:
            yield f"quality is {self.quality:g}, but {self.name} accepts {best} (best) to {worst}"
        elif self.quality is not None and self.quality % 1 and self.name in _INTEGER_QUALITY:
            yield f"quality is {self.quality:g}, but {self.name} accepts whole numbers only"
        presets = _PRESETS.get(self.name)
        if self.preset is None or presets is None or self.preset in presets:
            return
        if not presets:
            yield f"preset is {self.preset!r}, but {self.name} has none; leave it out"
        elif presets[0].isdigit():
            yield (
                f"preset is {self.preset!r}, but {self.name} accepts {presets[0]} (best) to "
                f"{presets[-1]} (fastest)"
            )
        else:
            suggestion = hint(self.preset, presets)
            yield f"preset is {self.preset!r}, which {self.name} does not have{suggestion}"

    @property
    def is_available(self) -> bool:
        import av

        try:
            return bool(av.Codec(self.name, "w").is_encoder)
        except ValueError:  # also the base class of av's own error
            return False

    def check_starts(self) -> None:
        """Raise if the encoder does not start; it may be built in without its hardware present."""
        import av

        context = av.CodecContext.create(self.name, "w")
        context.width, context.height, context.pix_fmt = 320, 256, "yuv420p"  # type: ignore[attr-defined]
        context.time_base, context.options = Fraction(1, 25), self.options
        try:
            with keep_thread_priorities():
                context.open()
        except (av.FFmpegError, OSError) as error:
            reason = getattr(error, "strerror", None) or error
            raise CuratorError(
                f"encoder {self.name} does not start on this machine ({reason}): check that its "
                "hardware is present, and preset and quality; libx264 runs anywhere"
            ) from None


def available_encoders() -> list[str]:
    return [name for name in _DEFAULTS if VideoEncoder(name).is_available]


_THREADS = Path("/proc/self/task")


@contextmanager
def keep_thread_priorities() -> Iterator[None]:
    """Restore the scheduling policy of threads that become real-time threads within the block."""
    if not _THREADS.is_dir():  # only Linux needs this
        yield
        return
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        yield
    finally:
        for thread in map(int, os.listdir(_THREADS)):
            with suppress(OSError):  # the thread has just ended
                if os.sched_getscheduler(thread) in (os.SCHED_FIFO, os.SCHED_RR):
                    os.sched_setscheduler(thread, policy, parameters)
