"""Run directory: the files that describe a run and outlast it."""

import platform
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from curator_core.errors import ResumeError
from curator_core.io.atomic_write import explain_write_errors
from curator_core.io.filesystems import StorageOptions, is_local, join, open_filesystem, parent_of
from curator_core.model.ids import fingerprint
from curator_core.model.records import StageCounts
from curator_core.model.resources import Resources
from curator_core.model.secrets import mask_argument, redact
from curator_core.model.tasks import Task
from curator_core.model.usage import Usage
from curator_core.plan.plan import Output, Plan, any_appends
from curator_core.plugins.hookspecs import GROUP
from curator_core.run.journal import from_line, to_page
from curator_core.run.permissions import make_run_folder, refuse_links, replace_run_file
from curator_core.run.result import RunResult


def default_run_dir(plan: Plan, outputs: list[Output]) -> str | None:
    """Return `<output>/.curator/<run>`, or None for a pipeline that writes nothing.

    If there are several outputs, use that of the last stage: others may only describe the data. A
    pipeline that appends has its own run directory for each set of inputs and options.
    """
    if not outputs:
        return None
    name = f"{plan.name}-{plan.fingerprint[:8]}" if any_appends(outputs) else plan.name
    last = plan.stages[-1].name
    chosen = next((output for output in outputs if output.stage == last), outputs[0])
    return join(chosen.folder, ".curator", name)


def run_token(run_dir: str, storage_options: StorageOptions | None = None) -> str:
    """Return the token that marks unpublished files of this run directory in every attempt."""
    _, path = open_filesystem(run_dir, storage_options)
    return fingerprint(path)[:12]


_OF_ONE_RUN = (
    "journal.jsonl", "journal", "quarantine", "events.jsonl", "events", "latest.json",
    "logs", "metrics.prom", "report.html", "run.json",
)  # fmt: skip


PREVIOUS = "previous.json"


class RunDirectory:
    """`run.json` and the folder that contains it."""

    def __init__(self, path: str, storage_options: dict[str, Any] | None = None) -> None:
        self.path = path
        self.storage_options = storage_options or {}
        self._fs, self._root = open_filesystem(path, self.storage_options)
        self._file = join(self._root, "run.json")

    def create(self, outputs: Sequence[Output] = (), *, shared: bool = False) -> None:
        """Create the folder. `outputs` are those of the run: one of them may contain the folder."""
        try:
            if is_local(self._fs):
                make_run_folder(self._root, shared=shared)
                refuse_links(self._root)
            else:
                self._fs.makedirs(self._root, exist_ok=True)
        except OSError as error:
            raise ResumeError(
                f"cannot make the run directory {self.path}: {error.strerror or error}; "
                f"allow writing there, {self._elsewhere(outputs)}choose another place with run_dir "
                "(--run-dir)"
            ) from error

    def _elsewhere(self, outputs: Sequence[Output]) -> str:
        inside = (o.stage for o in outputs if self.path.startswith(join(o.folder, ".curator")))
        stage = next(inside, None)
        return f"give stage {stage!r} another output_path, or " if stage else "or "

    def facts(self) -> dict[str, Any] | None:
        """Return the contents of `run.json`, or None if it does not exist."""
        if not self._fs.exists(self._file):
            return None
        try:
            facts: dict[str, Any] = from_line(self._fs.cat_file(self._file))
        except ValueError as error:
            raise ResumeError(
                f"{self._file} is damaged ({error}); delete {self.path} to start over"
            ) from error
        return facts

    def forget(self) -> None:
        """Start over: delete the files of an earlier run.

        If it had finished, its `run.json` is kept as `previous.json`.
        """
        earlier = self.facts() or {}
        if earlier.get("status") == "done":
            self._put(PREVIOUS, to_page(earlier))
        for name in _OF_ONE_RUN:
            path = join(self._root, name)
            if self._fs.exists(path):
                self._fs.rm(path, recursive=True)

    def previous(self) -> dict[str, Any] | None:
        """Return `run.json` of the finished run that this one replaced."""
        path = join(self._root, PREVIOUS)
        try:
            facts: dict[str, Any] = from_line(self._fs.cat_file(path))
        except (OSError, ValueError):
            return None
        return facts

    def write(self, facts: dict[str, Any]) -> None:
        self._put("run.json", to_page(facts))

    def keep_recipe(self, text: str) -> None:
        """Store the recipe as written, with variables not filled in."""
        if text:
            self._put("recipe.yaml", text.encode())

    def recipe(self) -> str:
        path = join(self._root, "recipe.yaml")
        return self._fs.cat_file(path).decode() if self._fs.exists(path) else ""

    def _put(self, name: str, content: bytes) -> None:
        self.put(name, redact(content.decode()).encode())

    def put(self, name: str, content: bytes) -> None:
        """Replace a file of the run atomically. The caller must redact secrets."""
        path = join(self._root, name)
        if not is_local(self._fs):
            self._fs.pipe_file(path, content)
            return
        with explain_write_errors(path):
            replace_run_file(path, content)


def describe_run(plan: Plan, executor: str) -> dict[str, Any]:
    return {
        "name": plan.name,
        "description": plan.description,
        "status": "running",
        "started": time.time(),
        "executor": executor,
        "fingerprint": plan.fingerprint,
        "plan": plan.describe(),
        "steps": [[part.name for part in step.parts] for step in plan.steps],
        "records": _record_names(plan),
        "needs": {planned.name: _needs(planned.resources) for planned in plan.stages},
        "command": [mask_argument(argument) for argument in sys.argv],
        "python": platform.python_version(),
        "packages": _packages(),
    }


def _record_names(plan: Plan) -> list[str]:
    """Return what the first and the last records of a plan are called, such as video and clip."""
    kinds = [planned.output_type for planned in plan.stages if not planned.returns_files]
    names = [kind.item_name for kind in kinds if kind is not Task] or [Task.item_name]
    return [names[0], names[-1]]


def _needs(resources: Resources) -> dict[str, float]:
    names = ("cpus", "gpus", "gpu_memory_gb", "memory_gb")
    return {name: found for name in names if (found := getattr(resources, name))}


def summarize_files(result: RunResult) -> dict[str, Any]:
    """Return the number of files by folder, and the files that hold statistics.

    With these, a run of a million files can be reported without its journal.
    """
    statistics = [file for file in result.files if file.endswith(".statistics.json")]
    return {
        "folders": _folders_of(result.files),
        "dropped_folders": _folders_of(result.dropped_files),
        "statistics": statistics[:_MOST_FOLDERS],
    }


def _folders_of(files: Iterable[str]) -> dict[str, int]:
    return dict(Counter(map(parent_of, files)).most_common(_MOST_FOLDERS))


_MOST_FOLDERS = 1000


def check_same_plan(facts: dict[str, Any], plan: Plan, run_dir: str) -> None:
    """Raise an error that lists the differences if the pipeline has changed since the run."""
    if facts.get("fingerprint") == plan.fingerprint:
        return
    changes = "\n".join(f"  {line}" for line in differences(facts.get("plan", []), plan.describe()))
    raise ResumeError(
        f"the pipeline {plan.name!r} has changed since the run in {run_dir}:\n{changes}\n"
        "Its results would be mixed with the earlier ones. Undo the change, write to another "
        "folder, or start over with resume=False (--no-resume)"
    )


def check_same_stages(facts: dict[str, Any], plan: Plan, run_dir: str) -> None:
    """Raise unless the plan has the same stages and its writers are unchanged."""
    before, after = facts.get("plan", []), plan.describe()
    writers = {planned.name for planned in plan.stages if planned.stage.writes}
    if [_shape(stage, writers) for stage in before] != [_shape(stage, writers) for stage in after]:
        changes = "\n".join(f"  {line}" for line in differences(before, after))
        raise ResumeError(
            f"the pipeline {plan.name!r} differs from that of the run in {run_dir}:\n{changes}\n"
            "A retry may change what stages do, not which stages there are or where they write"
        )


def _shape(stage: dict[str, Any], writers: set[str]) -> Any:
    return stage if stage["name"] in writers else stage["name"]


def differences(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[str]:
    """Return the differences between two plans, one line each."""
    names = [stage["name"] for stage in before]
    now = {stage["name"]: stage for stage in after}
    lines = [f"stage {name!r} was removed" for name in names if name not in now]
    lines += [f"stage {name!r} is new" for name in now if name not in names]
    for stage in before:
        if stage["name"] in now:
            lines += _option_changes(stage, now[stage["name"]])
    if not lines:
        lines = ["the stages are in another order"]
    return lines


def _option_changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    name = before["name"]
    lines = []
    if before["stage"] != after["stage"]:
        lines.append(f"stage {name!r}: {before['stage']} became {after['stage']}")
    changes = _changed_options("", before["options"], after["options"])
    return lines + [f"stage {name!r}: {change}" for change in changes]


def _changed_options(within: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """Yield the options that differ; of nested options, only the changed ones."""
    for option in sorted(before.keys() | after.keys()):
        old, new = before.get(option), after.get(option)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _changed_options(f"{within}{option}.", old, new)
        else:
            yield f"{within}{option} {old!r} became {new!r}"


def _packages() -> dict[str, str]:
    """Return the versions of all installed plugin packages, and of pyarrow."""
    from importlib.metadata import entry_points, version

    owners = [point.dist for point in entry_points(group=GROUP)]
    found = {dist.name: dist.version for dist in owners if dist is not None}
    return dict(sorted(found.items())) | {"pyarrow": version("pyarrow")}


def add_usages(earlier: Mapping[str, Any], now: Mapping[str, Usage]) -> dict[str, Usage]:
    """Return the usage of an attempt together with that of earlier ones, which `run.json` has."""
    total = {name: Usage.from_json(facts) for name, facts in earlier.items()}
    for name, usage in now.items():
        total.setdefault(name, Usage()).add(usage)
    return total


_KEPT = ("started", "ended", "executor", "command", "result", "written")
"""Facts that describe the run itself, not the retry."""


class RetriedRun:
    """The contents of `run.json` when a retry started."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self._facts = facts
        self._result: dict[str, Any] = facts.get("result") or {}
        self._status = str(facts.get("status_before", facts.get("status", "done")))
        self._is_complete = bool(self._result.get("is_complete", self._status == "done"))

    def while_retrying(self, now: dict[str, Any]) -> dict[str, Any]:
        """Return the contents of `run.json` during the retry."""
        kept = {name: self._facts[name] for name in _KEPT if name in self._facts}
        times = self._facts.get("retries", 0) + 1
        attempt = {"retries": times, "retried": time.time(), "status_before": self._status}
        return {**now, **kept, **attempt}

    def after(self, facts: dict[str, Any], result: RunResult) -> dict[str, Any]:
        """Return the contents of `run.json` after the retry, which never completes a run."""
        is_done = result.status == "done" and self._is_complete
        self._result = result.to_json()
        return {**facts, "status": "done" if is_done else self._status, "result": self._result}

    def add_to(self, result: RunResult) -> None:
        """Add the counts and usage of the run itself to the result of a retry."""
        for name, counts in self._result.get("stages", {}).items():
            if name in result.stages and not result.stages[name].tasks_in:  # it lists the sources
                result.stages[name] = StageCounts.from_json(counts)
        usages = add_usages(self._result.get("usages", {}), result.usages)
        result.usages = {name: usages[name] for name in result.stages if name in usages}
        restarts = dict(self._result.get("worker_restarts", {}))
        for reason, times in result.worker_restarts.items():
            restarts[reason] = restarts.get(reason, 0) + times
        result.worker_restarts = restarts
        result.is_complete = self._is_complete
        result.notes = list(dict.fromkeys([*self._result.get("notes", []), *result.notes]))
