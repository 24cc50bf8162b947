"""Loudness normalization: set a gain per row, without rewriting any file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from curator_core import ProcessingStage, Rejected
from curator_core.io.filesystems import StorageOptions

from curator_audio.batches import GAIN, PATH, AudioBatch
from curator_audio.forms import NATIVE
from curator_audio.measuring.levels import Peak
from curator_audio.measuring.loudness import SILENT_LUFS, IntegratedLoudness
from curator_audio.measuring.measures import Answer, Together


@dataclass
class LoudnessNormalizer(ProcessingStage[AudioBatch, AudioBatch]):
    """Write to `gain_db` the gain that brings each row to a target loudness.

    Later stages apply the gain when they decode. Rows that are silent, or too short to have a
    loudness, keep their gain.
    """

    target_lufs: float = -23.0
    """Target loudness; EBU R 128 uses -23."""

    highest_peak_db: float = -1.0
    """Limit for the largest sample after the gain, even if the target loudness is missed."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def check(self) -> Iterator[str]:
        if self.highest_peak_db > 0:
            yield f"highest_peak_db is {self.highest_peak_db:g}, but above 0 all is clipped"
        if not -70 < self.target_lufs <= 0:
            yield f"target_lufs is {self.target_lufs:g}, but must be between -70 and 0"

    def inputs(self) -> Sequence[str]:
        return (PATH,)

    def outputs(self) -> Sequence[str]:
        return (GAIN,)

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Rejected]:
        heard = task.listen(
            NATIVE, lambda: Together([IntegratedLoudness(), Peak()]), self.storage_options
        )
        before = heard.batch.gains()
        gains = [
            old + self._gain(*values) for old, values in zip(before, heard.values, strict=True)
        ]
        yield heard.batch.with_columns({GAIN: pa.array(gains, pa.float64())})
        yield from heard.rejected

    def _gain(self, loudness: Answer, peak: Answer) -> float:
        if loudness is None or loudness <= SILENT_LUFS or peak is None:
            return 0.0
        return min(self.target_lufs - loudness, self.highest_peak_db - peak)
