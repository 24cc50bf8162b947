"""Records of curations: the runs of all parts as one, for the report page and the dataset card."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from curator_core import RunResult, StageCounts
from curator_core.io.filesystems import full_path, join, open_filesystem, parent_of
from curator_core.model.node_usage import NodeUsage
from curator_core.model.usage import Usage
from curator_core.run.result import REPORT

from curator_report.history import History
from curator_report.page import render, write_report
from curator_report.run_record import RunRecord, read_run

FILE = "curation.json"
"""The file in which a curation lists its parts, in its work directory."""

_DEEPEST = 8
"""Folders between a run of a curation and its work directory, at most."""

_BETWEEN_PARTS = ("intermediate_reader_files", "intermediate_reader", "intermediate_writer")


def curation_around(run_dir: str) -> str | None:
    """Return the work directory of the curation that a run is a part of; None if there is none."""
    fs, folder = open_filesystem(run_dir)
    for _ in range(_DEEPEST):
        folder = parent_of(folder)
        if fs.exists(join(folder, FILE)):
            return full_path(fs, folder)
    return None


def read_record(path: str, *, in_short: bool = False) -> RunRecord:
    """Return the record of a run directory, or of the work directory of a curation."""
    return read_curation(path) if _is_curation(path) else read_run(path, in_short=in_short)


def write_page(path: str) -> str:
    """Write the page about a run or a curation, and return its path."""
    return write_curation_report(path) if _is_curation(path) else write_report(path)


def _is_curation(path: str) -> bool:
    fs, root = open_filesystem(path)
    return bool(fs.exists(join(root, FILE)))


def read_curation(work_dir: str) -> RunRecord:
    """Return the runs of all parts as one run, in which each workflow is one stage."""
    fs, root = open_filesystem(work_dir)
    facts = json.loads(fs.cat_file(join(root, FILE)))
    whole = _Whole()
    for part in facts["parts"]:
        if removal := part.get("removal"):
            name = part["name"].partition("-")[2]  # without its number
            whole.add_workflow(name, _runs_in(join(work_dir, part["folder"])), removal)
            pages = fs.glob(join(root, "parts", part["name"], "work", "*.html"))
            whole.result.notes += [f"{name}: {full_path(fs, str(page))}" for page in pages]
        else:
            whole.add_stages(_runs_in(join(work_dir, part["folder"]), part["run"]))
    return whole.record(work_dir, facts)


def write_curation_report(work_dir: str) -> str:
    """Write the page about all parts into the work directory, and return its path."""
    page = join(work_dir, REPORT)
    fs, path = open_filesystem(page)
    fs.pipe_file(path, render(read_curation(work_dir)).encode("utf-8", "replace"))
    return page


def _runs_in(folder: str, only: str = "*") -> list[RunRecord]:
    """Return the runs in a folder that have started."""
    fs, root = open_filesystem(folder)
    found = sorted(str(file) for file in fs.glob(join(root, only, "run.json")))
    return [read_run(full_path(fs, file.rpartition("/")[0]), in_short=True) for file in found]


@dataclass
class _Whole:
    """Collects the parts."""

    records: list[RunRecord] = field(default_factory=list)
    """The runs of stages between workflows."""

    stages: dict[str, StageCounts] = field(default_factory=dict)
    usages: dict[str, Usage] = field(default_factory=dict)
    nodes: dict[str, NodeUsage] = field(default_factory=dict)
    plan: list[dict[str, Any]] = field(default_factory=list)
    needs: dict[str, Any] = field(default_factory=dict)
    samples: list[dict[str, Any]] = field(default_factory=list)
    result: RunResult = field(default_factory=RunResult)
    states: list[str] = field(default_factory=list)

    def _add_totals(self, record: RunRecord) -> None:
        self.states.append(record.state)
        self.result.seconds += record.result.seconds
        self.result.quarantined += record.result.quarantined
        self.result.notes += record.result.notes
        for node, usage in record.result.nodes.items():
            self.nodes[node] = self.nodes[node].peak(usage) if node in self.nodes else usage

    def add_stages(self, runs: Sequence[RunRecord]) -> None:
        for record in runs:
            self._add_totals(record)
            self._add_run(record)

    def _add_run(self, record: RunRecord) -> None:
        self.records.append(record)
        names = {name: self._unique(name) for name in record.result.stages}
        plan = {str(stage["name"]): stage for stage in record.facts.get("plan", [])}
        for name, counts in record.result.stages.items():
            if name in _BETWEEN_PARTS:
                continue
            self.stages[names[name]] = counts
            self.plan.append({**plan.get(name, {}), "name": names[name]})
            if name in record.result.usages:
                self.usages[names[name]] = record.result.usages[name]
            self.needs[names[name]] = (record.facts.get("needs") or {}).get(name, {})
        self.samples += [_renamed(sample, names) for sample in record.history.samples]

    def add_workflow(self, name: str, runs: Sequence[RunRecord], removal: str) -> None:
        """Add a workflow as one stage: what its pipeline `removal` dropped, and what all used."""
        for record in runs:
            self._add_totals(record)
        last = next((record for record in runs if record.path.endswith(f"/{removal}")), None)
        if last is None:
            return
        counts = max(last.result.stages.values(), key=lambda one: one.items_dropped)
        received = counts.records_out + counts.items_dropped
        self.stages[name] = replace(counts, items_in=received, files_in=0)
        self.plan.append({"name": name, "options": {}})
        self.usages[name] = total = Usage()
        for record in runs:
            for usage in record.result.usages.values():
                total.add(usage)

    def _unique(self, name: str) -> str:
        if name in _BETWEEN_PARTS or name not in self.stages:
            return name
        number = 2
        while f"{name}_{number}" in self.stages:
            number += 1
        return f"{name}_{number}"

    def record(self, folder: str, facts: Mapping[str, Any]) -> RunRecord:
        first, last = self.records[0], self.records[-1]
        state = next((one for one in self.states if one != "done"), "done")
        if state == "done" and not facts.get("is_finished"):
            state = "interrupted"
        result = replace(
            self.result,
            stages=self.stages,
            usages=self.usages,
            nodes=self.nodes,
            status=state,
            sources_done=first.result.sources_done,
            sources_skipped=first.result.sources_skipped,
            run_dir=folder,
        )
        whole = {
            **first.facts,
            "name": facts["name"],
            "description": facts["description"],
            "plan": self.plan,
            "steps": None,
            "needs": self.needs,
        }
        history = History(began=first.history.began, last=last.history.last, samples=self.samples)
        statistics = [file for record in self.records for file in record.statistics]
        return RunRecord(
            folder, facts["name"], state, whole, result, history, last.folders,
            last.dropped_folders, statistics,
        )  # fmt: skip


def _renamed(sample: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {**sample, "stage": names.get(sample.get("stage", ""), sample.get("stage"))}
