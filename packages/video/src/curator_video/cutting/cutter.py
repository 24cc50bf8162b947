"""The stage that cuts clips."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from curator_core import ProcessingStage, WorkerInfo
from curator_core.errors import hint

from curator_video.cutting.encoders import VideoEncoder, available_encoders
from curator_video.cutting.exact import ExactCutter
from curator_video.cutting.stream_copy import copy_clip
from curator_video.tasks import Clip

CutMode: TypeAlias = Literal["exact", "copy"]
Hdr: TypeAlias = Literal["tone_map", "refuse"]


@dataclass
class ClipCutter(ProcessingStage[Clip, Clip]):
    """Cut clips out of their videos, with sound.

    Damaged clips are quarantined with the reason.
    """

    mode: CutMode = "exact"
    """`exact` re-encodes and begins at the exact frame; `copy` copies packets from the keyframe
    before, in a hundredth of the time. The metadata has the actual span."""

    encoder: str = "libx264"
    """Video encoder: libx264, libsvtav1, libvpx-vp9, h264_nvenc, or another FFmpeg encoder."""

    preset: str | None = None
    """Preset of the encoder, which trades speed for size: veryfast, 10, p4. Without one, x264 takes
    two thirds of the time of veryfast, for 8 % more bytes."""

    quality: float | None = None
    """Constant quality (crf, or cq for NVENC). Lower is better: 0 to 51 for x264 and NVENC, 0 to 63
    for SVT-AV1 and VP9, 1 to 31 for mpeg4."""

    keep_audio: bool = True
    """Keep the first audio track: copied, or re-encoded as AAC (PCM in AVI) if the clip's container
    cannot hold it. If a clip loses its sound, `changes` has the reason."""

    hdr: Hdr = "tone_map"
    """For HDR (PQ, HLG): `tone_map` makes 8-bit BT.709 in exact mode; `refuse` quarantines HDR
    clips."""

    def check(self) -> Iterator[str]:
        if self.mode not in get_args(CutMode):
            yield f"mode is {self.mode!r}{hint(self.mode, get_args(CutMode))}"
        elif self.hdr not in get_args(Hdr):
            yield f"hdr is {self.hdr!r}{hint(str(self.hdr), get_args(Hdr))}"
        elif self.mode == "exact" and not self._encoder.is_available:
            names = available_encoders()
            known = ", ".join(names)
            yield (
                f"encoder is {self.encoder!r}, which this build of av does not have"
                f"{hint(self.encoder, names)}; it has {known}"
            )
        elif self.mode == "exact":
            yield from self._encoder.problems()

    @property
    def _encoder(self) -> VideoEncoder:
        return VideoEncoder(self.encoder, self.preset, self.quality)

    def setup(self, worker: WorkerInfo) -> None:
        if self.mode == "exact":
            self._encoder.check_starts()
            self._exact = ExactCutter(self._encoder, self.keep_audio, self.hdr == "refuse")

    def process(self, task: Clip) -> Clip:
        if self.mode == "copy":
            return task.with_encoded(copy_clip(task.data, self.keep_audio))
        return task.with_encoded(self._exact.cut(task.data))

    def teardown(self) -> None:
        if (exact := vars(self).pop("_exact", None)) is not None:
            exact.close()
