"""Crash at every single change that a run makes to the disk, then run the same command again.

    python crash_points.py SCENARIO FOLDER STRIDE

Each crash happens in a forked process that leaves by `os._exit`, before or after a change, or, for
a write, in its middle. Prints what differs from an undisturbed run, as JSON.
"""

import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from curator_core import LocalExecutor, Pipeline
from runkit import (
    Doubt,
    Pairs,
    Together,
    hidden_leftovers,
    published,
    words_pipeline,
    write_input,
    write_inputs,
)

TEXTS = ["a b c", "d bad1 e", "drop1 f", "g h bad2 bad3", "drop2", "i"]
UNCOUNTED = ("seconds", "bytes_in", "bytes_out")
CHANGES = ("write", "replace", "rename", "remove", "unlink", "mkdir", "ftruncate", "rmdir")


class Points:
    """Counts changes to the disk; ends the process at the chosen one."""

    def __init__(self, crash_at: int | None) -> None:
        self.number = 0
        self.crash_at = crash_at

    def pass_by(self, *, middle: Callable[[], Any] | None = None) -> None:
        self.number += 1
        if self.number == self.crash_at:
            if middle is not None:
                middle()
            os._exit(9)

    def watch(self) -> None:
        for name in CHANGES:
            setattr(os, name, self._watched(getattr(os, name), tears=name == "write"))
        opened = open

        def watched_open(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
            if set(mode) & set("wax+"):
                self.pass_by()
            return opened(file, mode, *args, **options)

        sys.modules["builtins"].open = watched_open  # type: ignore[attr-defined]

    def _watched(self, change: Callable[..., Any], *, tears: bool) -> Callable[..., Any]:
        def watched(*args: Any, **options: Any) -> Any:
            self.pass_by()
            if tears:
                handle, content = args
                self.pass_by(middle=lambda: change(handle, content[: len(content) // 2]))
            given = change(*args, **options)
            self.pass_by()
            return given

        return watched


def _run(folder: Path) -> None:
    words_pipeline(folder).run(LocalExecutor(workers=0))


def _prune(folder: Path) -> None:
    words_pipeline(folder).run(LocalExecutor(workers=0), removed_inputs="prune")


def _mixed(folder: Path) -> None:
    words_pipeline(folder, Pairs()).run(Together(3))


def _prune_mixed(folder: Path) -> None:
    words_pipeline(folder, Pairs()).run(Together(3), removed_inputs="prune")


def _retry(folder: Path) -> None:
    words_pipeline(folder).retry(str(folder / "out/.curator/words"), LocalExecutor(workers=0))


def _doubtful(folder: Path) -> Pipeline:
    return words_pipeline(folder, Doubt(str(folder / "mended")))


def _run_doubtful(folder: Path) -> None:
    _doubtful(folder).run(LocalExecutor(workers=0))


def _retry_records(folder: Path) -> None:
    _doubtful(folder).retry(str(folder / "out/.curator/words"), LocalExecutor(workers=0))


def _rejected(folder: Path) -> None:
    _fresh(folder)
    _run_doubtful(folder)
    (folder / "mended").touch()


def _overwrite(folder: Path) -> None:
    pipeline = words_pipeline(folder, mode="overwrite")
    pipeline.stages[-1].ending = "!"  # type: ignore[attr-defined]
    pipeline.run(LocalExecutor(workers=0))


def _fresh(folder: Path) -> None:
    write_inputs(folder, TEXTS)


def _changed(folder: Path) -> None:
    """One file was changed, one is new, and an output was deleted."""
    _fresh(folder)
    _run(folder)
    write_input(folder, "003", "g h2 bad2")
    write_input(folder, "000x", "new bad9")
    next(iter(sorted((folder / "out").glob("part-*")))).unlink()


def _changed_mixed(folder: Path) -> None:
    _fresh(folder)
    _mixed(folder)
    write_input(folder, "003", "g h2 bad2")
    write_input(folder, "009", "new")


def _removed(folder: Path) -> None:
    """Two files were removed, one of them after a retry, and one is new."""
    _failed(folder)
    _retry(folder)
    for name in ("000", "003"):
        (folder / "in" / f"{name}.txt").unlink()
    write_input(folder, "009", "new")


def _removed_mixed(folder: Path) -> None:
    _fresh(folder)
    _mixed(folder)
    (folder / "in/001.txt").unlink()


def _renamed(folder: Path) -> None:
    _fresh(folder)
    _run(folder)
    (folder / "in/003.txt").rename(folder / "in/00.txt")


def _failed(folder: Path) -> None:
    _fresh(folder)
    _run(folder)
    (folder / "mended").touch()


SCENARIOS: dict[str, tuple[Callable[[Path], None], Callable[[Path], None]]] = {
    "fresh": (_fresh, _run),
    "mixed": (_fresh, _mixed),
    "changed": (_changed, _run),
    "changed_mixed": (_changed_mixed, _mixed),
    "retry": (_failed, _retry),
    "prune": (_removed, _prune),
    "prune_mixed": (_removed_mixed, _prune_mixed),
    "renamed": (_renamed, _run),
    "retry_records": (_rejected, _retry_records),
    "overwrite": (_changed, _overwrite),
}


def _forked(work: Callable[[], None]) -> int:
    """Return the exit code of a process that does the work."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 - the parent gets every error
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _state(folder: Path) -> dict[str, Any]:
    """Everything that a user can see afterwards."""
    run_dir = folder / "out/.curator/words"
    facts = json.loads((run_dir / "run.json").read_text())
    stages = facts.get("result", {}).get("stages", {})
    counts = {
        name: {key: value for key, value in account.items() if key not in UNCOUNTED}
        for name, account in stages.items()
        if name != "list_files"  # a retry lists nothing
    }
    records = [
        json.loads(line)
        for file in sorted((run_dir / "quarantine").glob("*.jsonl"))
        for line in file.read_text().splitlines()
    ]
    contents = published(folder / "out")
    texts = [text for name, text in contents.items() if name.startswith("part-")]
    return {
        "words": sorted(word for text in texts for word in text.decode().strip().split("+")),
        "files": {name: content.decode() for name, content in contents.items()},
        "leftovers": hidden_leftovers(folder / "out"),
        "status": facts["status"],
        "counts": counts,
        "quarantine": sorted(f"{r['task_id']} {r['reason']}" for r in records),
    }


def _differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    return [f"{key}: {one[key]} != {other[key]}" for key in one if one[key] != other[key]]


def _counted(run: Callable[[Path], None], folder: Path, at: int | None, note: Path) -> None:
    points = Points(at)
    points.watch()
    run(folder)
    if at is None:
        note.write_text(str(points.number))


def _comparable(name: str, state: dict[str, Any]) -> dict[str, Any]:
    """Leave out facts that may differ from a run of all inputs at once."""
    keys = ["words", "leftovers", "status"]
    if name == "renamed":  # ids depend on the first names
        return {key: state[key] for key in keys}
    if "mixed" in name or name == "retry_records":
        # Which two are paired depends on what is left to do; each record has its own file.
        return {key: state[key] for key in (*keys, "quarantine")}
    return state


def _import_all(work: Callable[[], None], note: Path) -> None:
    """Import the modules that the work needs, so that hundreds of processes need not."""

    def tell() -> None:
        work()
        note.write_text("\n".join(sys.modules))

    assert _forked(tell) == 0
    for name in note.read_text().split():
        with suppress(ImportError):
            import_module(name)


def main(name: str, folder: Path, stride: int) -> None:
    prepare, run = SCENARIOS[name]
    work, template, note = folder / "work", folder / "template", folder / "points"

    def rehearse() -> None:
        prepare(folder / "rehearsal")
        run(folder / "rehearsal")

    folder.mkdir(parents=True, exist_ok=True)
    _import_all(rehearse, folder / "modules")
    assert _forked(lambda: prepare(work)) == 0  # paths are part of ids, so they must not change
    work.rename(template)

    def begin() -> None:
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(template, work)

    begin()
    shutil.rmtree(work / "out", ignore_errors=True)
    anew = {"retry": _run, "retry_records": _run_doubtful}.get(name, run)
    assert _forked(lambda: anew(work)) == 0
    wanted = _comparable(name, _state(work))
    begin()
    assert _forked(lambda: _counted(run, work, None, note)) == 0
    wrong = {}
    if found := _differences(wanted, _state(work)):
        wrong["undisturbed"] = found
    if name == "retry_records":
        wanted = _state(work)
    assert _forked(lambda: run(work)) == 0
    if found := _differences(wanted, _state(work)):
        wrong["again"] = found
    points = int(note.read_text()) - 1
    tried = range(1 + points % stride, points + 1, stride)
    for at in tried:
        begin()
        crashed = _forked(lambda at=at: _counted(run, work, at, note))  # type: ignore[misc]
        resumed = _forked(lambda: run(work))
        found = _differences(wanted, _state(work)) if resumed == 0 else []
        if crashed != 9 or resumed != 0 or found:
            wrong[str(at)] = [f"crashed {crashed}, resumed {resumed}", *found]
    print(json.dumps({"tried": len(tried), "wrong": wrong}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
