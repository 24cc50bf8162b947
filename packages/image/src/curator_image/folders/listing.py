"""Listing of image folders: find image files and count the files that are not read."""

import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from curator_core.io.listing import Wanted, find_files
from curator_core.io.partitioning import FilePartitioning
from curator_core.model.files import FileGroup, FilePart
from curator_core.model.tasks import Dropped, Empty

_LOG = logging.getLogger("curator_core.image")  # child of the logger shown in the terminal


@dataclass(frozen=True)
class _Counting(Wanted):
    """Count the files that are skipped only because of their extension."""

    sidecars: tuple[str, ...] = ()
    others: Counter[str] = field(default_factory=Counter)

    def accepts(self, relative: str, *, any_ending: bool = False) -> bool:
        if super().accepts(relative, any_ending=any_ending):
            return True
        if super().accepts(relative, any_ending=True) and not relative.lower().endswith(
            self.sidecars
        ):
            name = relative.rpartition("/")[2].lower()
            stem, dot, ending = name.rpartition(".")
            self.others[f".{ending}" if stem and dot else "no ending"] += 1
        return False


@dataclass
class ImageFileListing(FilePartitioning):
    """List image files. Other files, except sidecars, are counted as dropped."""

    sidecars: tuple[str, ...] = field(default=(), kw_only=True)
    """Extensions of sidecar files."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._others: Counter[str] = Counter()

    def process(self, task: Empty) -> Iterator[FileGroup | Dropped]:  # type: ignore[override]
        self._others.clear()
        yield from super().process(task)
        if self._others:
            _LOG.warning("%s", _summary(self._others))
        for ending, count in sorted(self._others.items()):
            yield Dropped(f"not an image file ({ending})", count)

    def files(self) -> Iterator[FilePart]:
        wanted, beside = self.wanted, tuple(f".{ending.lower()}" for ending in self.sidecars)
        counting = _Counting(
            wanted.extensions, wanted.include, wanted.exclude, beside, self._others
        )
        return find_files(self.paths, counting, self.storage_options)


def _summary(others: Counter[str]) -> str:
    kinds = ", ".join(f"{count:,} {ending}" for ending, count in others.most_common(8))
    more = ", …" if len(others) > 8 else ""
    total = others.total()
    return f"{total:,} file{'s' * (total != 1)} of other kinds not read: {kinds}{more}"
