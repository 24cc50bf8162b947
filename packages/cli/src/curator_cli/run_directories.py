"""RUN arguments: a run directory, or the output folder of a run."""

from typing import TYPE_CHECKING, Any

from curator_core.errors import InputError, nearest_file
from curator_core.io.filesystems import base_name, full_path, join, open_filesystem
from curator_core.run.directory import RunDirectory

if TYPE_CHECKING:
    from curator_core import Executor, Pipeline

    from curator_cli.recipes import Permissions

RECIPE = "recipe.yaml"


def find_run(path: str) -> str:
    """Return the run directory: `path` itself, or the latest one in its `.curator`.

    The folder of a workflow, too, gives its latest run.
    """
    fs, root = open_filesystem(path)
    if fs.exists(join(root, "run.json")):
        return full_path(fs, root)
    inside = join(root, ".curator")
    runs = [run for run in _folders(fs, inside) if fs.exists(join(run, "run.json"))]
    if not runs:
        runs = [run for run in _folders(fs, root) if fs.exists(join(run, "run.json"))]
    if not runs:
        work_dirs = [root, *_folders(fs, inside)]
        runs = [run for work_dir in work_dirs for run in _runs_of_workflow(fs, work_dir)]
    if not runs:
        raise InputError(_nothing_at(path, fs, root))
    return full_path(fs, max(runs, key=_start_time))


def pipeline_of(run_dir: str, permissions: "Permissions") -> "tuple[Pipeline, Executor | None]":
    """Return the pipeline of a run's recipe, and the executor that the recipe asks for."""
    from curator_cli.recipes import load_recipe

    fs, root = open_filesystem(run_dir)
    file = join(root, RECIPE)
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
    runs = [run for home in homes for run in _folders(fs, home)]
    return [run for run in runs if fs.exists(join(run, "run.json"))]


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
