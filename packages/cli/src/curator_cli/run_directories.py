"""RUN arguments: a run directory, or the output folder of a run."""

import os
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from curator_core.errors import InputError, nearest_file
from curator_core.io.filesystems import base_name, full_path, join, open_filesystem
from curator_core.run.directory import RunDirectory

from curator_cli.output import note

if TYPE_CHECKING:
    from curator_core import Executor, Pipeline

    from curator_cli.recipes import Permissions

RECIPE = "recipe.yaml"


def find_run(path: str) -> str:
    """Return the run directory: `path` itself, or the latest one in its `.curator`.

    The folder of a workflow, too, gives its latest run.
    """
    fs, root = open_filesystem(path)
    if _is_run(fs, root):
        return full_path(fs, root)
    runs = _runs_in(fs, join(root, ".curator")) or _runs_in(fs, root)
    if not runs:
        work_dirs = [root, *_folders(fs, join(root, ".curator"))]
        runs = [run for work_dir in work_dirs for run in _runs_of_workflow(fs, work_dir)]
    if not runs:
        raise InputError(_nothing_at(path, fs, root))
    return full_path(fs, max(runs, key=_start_time))


def find_run_or_newest(path: str | None) -> str:
    """Return the run directory of `path` or, without it, the newest run in the current folder."""
    if path is not None:
        return find_run(path)
    newest, *others = _runs_here()
    if others:
        note(f"{len(others) + 1} runs in this folder; the newest is {newest} ({_others(others)})")
    return find_run(newest)


def find_run_or_curation(path: str | None) -> str:
    """Like `find_run_or_newest`, but of a curation return the work directory of all its parts."""
    from curator_report.curation_record import curation_around

    found = find_run_or_newest(path)
    is_named = path is not None and _is_run(*open_filesystem(path))
    return found if is_named else curation_around(found) or found


def find_only_run(path: str | None) -> str:
    """Return the run directory of `path` or, without it, the only run in the current folder."""
    if path is not None:
        return find_run(path)
    only, *others = _runs_here()
    if others:
        raise InputError(
            f"{len(others) + 1} runs in this folder; name one: {only} ({_others(others)})"
        )
    return find_run(only)


def _others(runs: list[str]) -> str:
    more = f" and {len(runs) - _LISTED} more" if len(runs) > _LISTED else ""
    return f"others: {', '.join(runs[:_LISTED])}{more}"


_LISTED = 5
_MOST_FOLDERS = 2000
"""Number of folders to look into."""


def _runs_here() -> list[str]:
    """Return the runs in the current folder and two levels below, the newest first."""
    fs, here = open_filesystem(".")
    found: dict[str, None] = {}
    for folder in islice(_folders_below(here, levels=2), _MOST_FOLDERS):
        if _is_run(fs, folder):
            found[folder] = None
        for home in _folders(fs, join(folder, ".curator")):
            of_home = [home] if _is_run(fs, home) else _runs_of_workflow(fs, home)
            found |= dict.fromkeys(sorted(of_home, key=_start_time)[-1:])
    if not found:
        raise InputError(
            "no run in this folder or two levels below; give a run directory, or the output "
            "folder of a run"
        )
    newest_first = sorted(found, key=_start_time, reverse=True)
    return [os.path.relpath(run, here) for run in newest_first]


def _folders_below(folder: str, levels: int) -> Iterator[str]:
    """Yield a local folder and those in it that are not hidden."""
    yield folder
    if not levels:
        return
    try:
        with os.scandir(folder) as entries:  # asks no file for its size: there may be millions
            inside = sorted(entry.path for entry in entries if entry.is_dir())
    except OSError:
        return
    for path in inside:
        if not base_name(path).startswith("."):
            yield from _folders_below(path, levels - 1)


def _is_run(fs: Any, folder: str) -> bool:
    return bool(fs.exists(join(folder, "run.json")))


def _runs_in(fs: Any, folder: str) -> list[str]:
    return [run for run in _folders(fs, folder) if _is_run(fs, run)]


def pipeline_of(run_dir: str, permissions: "Permissions") -> "tuple[Pipeline, Executor | None]":
    """Return the pipeline of a run's recipe, and the executor that the recipe asks for."""
    from curator_report.curation_record import curation_around

    from curator_cli.recipes import load_recipe

    fs, root = open_filesystem(run_dir)
    file = join(root, RECIPE)
    if curation_around(run_dir) is not None:
        raise InputError(
            f"{run_dir} is a part of a curation; run that again, which also retries what failed"
        )
    if not fs.exists(file):
        raise InputError(
            f"run {run_dir} was not made from a recipe, so its stages are not known here; "
            f"call retry({run_dir!r}) on the Pipeline in the program that ran it"
        )
    recipe = load_recipe(fs.cat_file(file).decode() + "\n", permissions=permissions)
    return recipe.pipeline(), recipe.executor()


def _folders(fs: Any, folder: str) -> list[str]:
    if not fs.isdir(folder):
        return []
    return [entry["name"] for entry in fs.ls(folder, detail=True) if entry["type"] == "directory"]


def _runs_of_workflow(fs: Any, work_dir: str) -> list[str]:
    """Return the runs of the pipelines of a workflow in its working folder."""
    homes = _folders(fs, join(work_dir, ".curator"))
    return [run for home in homes for run in _runs_in(fs, home)]


def _start_time(run: str) -> float:
    try:
        return float((RunDirectory(run).facts() or {}).get("started", 0.0))
    except (ValueError, TypeError):
        return 0.0


def _nothing_at(path: str, fs: Any, root: str) -> str:
    if fs.exists(root):
        return (
            f"no run in {path}: it has neither a run.json nor .curator/<run>/run.json; "
            "give a run directory, or the output folder of a run"
        )
    above, name = root.rpartition("/")[0], base_name(root)
    close = nearest_file(name, [base_name(found) for found in _folders(fs, above or "/")])
    return f"no such file or folder: {path}" + (
        f" (did you mean {join(above, close)}?)" if close else ""
    )
