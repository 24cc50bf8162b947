"""Changed inputs: which files were renamed since an earlier run, and which were removed."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, Self, TypeAlias, get_args

from curator_core.errors import PipelineError, RemovedInputsError, hint
from curator_core.model.tasks import Origin

RemovedInputs: TypeAlias = Literal["stop", "prune", "keep"]
"""What to do with output of removed input files: stop before writing, delete it or keep it."""

MOST_SHOWN = 10


@dataclass(frozen=True)
class InputPolicy:
    """What a run does if input files of earlier output are no longer listed."""

    removed: RemovedInputs = "stop"

    confirmed: bool = True
    """If false, `prune` only lists what it would delete."""

    own_folders: tuple[str, ...] = ()
    """Folders between the pipelines of a workflow, whose files may appear and disappear."""

    depends_on_names: bool = False
    """Whether to process renamed files again, because the output depends on file names."""

    @classmethod
    def of(cls, given: "RemovedInputs | InputPolicy") -> Self:
        if isinstance(given, cls):
            return given
        known = get_args(RemovedInputs)
        if given not in known:
            raise PipelineError(
                f"removed_inputs is {given!r}, but must be one of {', '.join(known)}"
                f"{hint(str(given), known)}"
            )
        return cls(given)  # type: ignore[arg-type]

    def owns(self, name: str) -> bool:
        return any(name.startswith(f"{folder.rstrip('/')}/") for folder in self.own_folders)


STOP = InputPolicy()

State: TypeAlias = tuple[str, int, int | None]
"""The version of a file (size, and modification time or ETag), and the range of it."""


def states(origins: Iterable[Origin]) -> dict[str, set[State]]:
    """Return the states of files, by file name."""
    found: dict[str, set[State]] = defaultdict(set)
    for origin in origins:
        found[origin.name].add((origin.version, origin.start, origin.end))
    return found


def find_renames(
    removed: Mapping[str, Collection[State]], new: Mapping[str, Collection[State]]
) -> dict[str, str]:
    """Map old names to new ones, if exactly one removed and one new file share their states.

    For a removed file, only the parts that were processed are known.
    """
    holders: dict[State, set[str]] = defaultdict(set)
    for name, found in new.items():
        for state in found:
            holders[state].add(name)
    sharing = {
        name: set.intersection(*(holders.get(state, set()) for state in found))
        for name, found in removed.items()
        if all(map(_identifies_content, found))
    }
    wanted = Counter(name for found in sharing.values() for name in found)
    return {
        old: name
        for old, found in sharing.items()
        for name in found
        if len(found) == wanted[name] == 1
    }


def _identifies_content(state: State) -> bool:
    """Whether the version holds more than a size, which proves nothing."""
    return bool(state[0].partition(":")[2])


Part: TypeAlias = tuple[str, str, int, int | None]
Parts: TypeAlias = Mapping[str, Sequence[Origin]]
"""Source ids, with the parts of files that each source contains."""


def match_sources(
    old: Parts, new: Parts, removed: Collection[str] = ()
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield new and old source ids that cover the same parts of the same files.

    Renaming a file may change how files are grouped, so several new sources can match several old
    ones. Parts of `removed` files may be in old sources only.
    """
    olds, news = _by_part(old), _by_part(new)
    seen: set[str] = set()
    for first in new:
        if first in seen:
            continue
        is_same = True
        found = {(True, first)}
        waiting = [(True, first)]
        while waiting:
            is_new, source = waiting.pop()
            for origin in (new if is_new else old)[source]:
                part = _part(origin)
                sharing = (news if is_new else olds)[part]
                mates = (olds if is_new else news).get(part, [])
                is_removed = not is_new and not mates and origin.name in removed
                is_same &= is_removed or len(mates) == len(sharing) == 1
                fresh = {(not is_new, mate) for mate in mates} - found
                found |= fresh
                waiting += fresh
        found_new = sorted(source for is_new, source in found if is_new)
        found_old = sorted(source for is_new, source in found if not is_new)
        seen.update(found_new)
        if is_same and found_old:
            yield found_new, found_old


def _by_part(sources: Parts) -> dict[Part, list[str]]:
    found: dict[Part, list[str]] = defaultdict(list)
    for source, origins in sources.items():
        for origin in origins:
            found[_part(origin)].append(source)
    return found


def _part(origin: Origin) -> Part:
    return origin.name, origin.version, origin.start, origin.end


@dataclass(frozen=True)
class Removal:
    """Removed input files whose output still exists, and what deleting it would affect."""

    removed: Sequence[str]
    new: Sequence[str]
    files: Sequence[str]
    """Output files that would be deleted."""

    redone: int
    """Number of other sources that share this output and would be processed again."""

    run_dir: str

    def refuse(self) -> RemovedInputsError:
        its = "its" if len(self.removed) == 1 else "their"
        new = f"\n{_counted(self.new, 'new input file')}:{_lines(self.new)}" if self.new else ""
        return RemovedInputsError(
            f"{self._describe_removed()}, but {its} output is still there:"
            f"{_lines(self.removed)}{new}\n"
            'Nothing was written. Delete that output with removed_inputs="prune" (--prune), or '
            'keep it with removed_inputs="keep" (--keep-removed)'
        )

    def refuse_empty(self) -> RemovedInputsError:
        return RemovedInputsError(
            f"no input is listed at all, but {_counted(self.removed, 'file')} of earlier runs in "
            f"{self.run_dir} still have output:{_lines(self.removed)}\nNothing was written. Check "
            "the input path and whether its disk is mounted; if all input was removed on purpose, "
            'keep its output with removed_inputs="keep" (--keep-removed)'
        )

    def preview(self) -> RemovedInputsError:
        again = (
            f"\n{self.redone:,} other source{'s' * (self.redone != 1)} would be processed again, "
            "because they share some of these files"
        )
        return RemovedInputsError(
            f"{self._describe_removed()}:{_lines(self.removed)}\n--prune would delete "
            f"{_counted(self.files, 'output file')}:{_lines(self.files)}"
            f"{again if self.redone else ''}\nNothing was deleted. Add --yes to delete"
        )

    def refuse_keeping(self) -> RemovedInputsError:
        return RemovedInputsError(
            "the output of removed input files cannot be kept, because it also holds records of "
            f"files that have to be processed again:{_lines(self.removed)}\nNothing was written. "
            'Put these files back, or delete their output with removed_inputs="prune" (--prune)'
        )

    def _describe_removed(self) -> str:
        verb = "is" if len(self.removed) == 1 else "are"
        of = _counted(self.removed, "input file")
        return f"{of} of the run in {self.run_dir} {verb} no longer listed"


def _counted(names: Sequence[str], noun: str) -> str:
    return f"{len(names):,} {noun}{'s' * (len(names) != 1)}"


def _lines(names: Sequence[str]) -> str:
    more = f"\n  and {len(names) - MOST_SHOWN:,} more" if len(names) > MOST_SHOWN else ""
    return "".join(f"\n  {name}" for name in islice(names, MOST_SHOWN)) + more
