"""Shuffle: randomize the order of a corpus that is larger than memory."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from curator_core import Pipeline, WorkflowResult
from curator_core.io.filesystems import paths_as_text

from curator_text.mixing.random_order import RandomOrderWorkflow, Scattering


@dataclass
class ShuffleWorkflow(RandomOrderWorkflow):
    """Puts the rows of all files into one random order, determined by the seed.

    The first pipeline writes each row to a bucket, chosen by a hash; the second sorts each bucket
    by the hash. Each bucket becomes one file, or several if it is large. The rows and their order
    are the same on every executor, with any number of workers, and regardless of the location of
    the input; only file names differ. An interrupted run can be resumed at any point.
    """

    input_paths: str | list[str]
    """Files, folders or patterns of JSON lines or Parquet."""

    name = "shuffle"

    step_options: ClassVar[Mapping[str, str]] = {
        "input": "input_paths",
        "output": "output_path",
        "work": "work_path",
        "storage": "storage",
        "format": "output_format",
    }

    def check(self) -> Iterable[str]:
        yield from super().check()
        if not self.paths or not all(self.paths):
            yield "input_paths is empty; name a file, a folder, a pattern or a list of them"

    @property
    def paths(self) -> list[str]:
        given = paths_as_text(self.input_paths)
        return [given] if isinstance(given, str) else given

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        buckets = self.bucket_count(self.size_of(self.paths))
        scattering = Scattering(self.seed, self.text_field)
        stages = self.scatter_stages(self.paths, scattering, "0", buckets)
        yield Pipeline("scatter", stages=stages, on_error="fail")
        yield Pipeline("gather", stages=self.gather_stages(buckets), on_error="fail")
        result.metadata["rows"] = result.runs["gather"].stages["bucket_reading"].items_out
        result.metadata["buckets"] = buckets
