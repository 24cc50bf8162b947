"""Samples: example options of stages, for snippets and to ask a stage what it reads and needs."""

import json
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from curator_core import AnyStage, Empty, FileGroup
from curator_core.model.stages import flatten

from curator_cli.recipes.options import Option, OptionTable, options_of

SAMPLES: Mapping[str, Any] = {
    "audio.speech_recognizer.model": "base.en",
    "bad_words": ["badword"],
    "benchmarks": {"gsm8k": "gsm8k.jsonl"},
    "counts": "counts.json",
    "extension": "py",
    "file_paths": "raw/",
    "filter_field": "width",
    "folder": "downloads/",
    "histogram": "histogram.json",
    "input_path": "raw/",
    "input_paths": "raw/",
    "label": "good",
    "lang": "python",
    "language": "python",
    "languages": ["en", "de"],
    "model": "owner/model",
    "output_path": "out/",
    "path": "out/",
    "path_to_tokenizer": "tokenizer.json",
    "paths": "wet.paths.gz",
    "patterns": ["Share this page"],
    "position": "any",
    "score_field": "score",
    "separator": "\n",
    "sources": [{"paths": "web/", "weight": 0.7}, {"paths": "books/", "weight": 0.3}],
    "substring": "recipe",
    "text.general_comment_to_code_filter.language": "text/x-python",
    "text.score_buckets.thresholds": [0.3, 0.7],
    "text.token_count_filter.hf_model_name": "gpt2",
    "text.token_count_filter.max_tokens": 4096,
    "text.url_words_filter.words": ["casino"],
    "url": "http://localhost:8000/v1",
    "urls": "https://example.com/books.jsonl.gz",
    "weights": "weights.pt",
}
"""By option, or by stage and option."""

MOST_OPTIONS = 5
"""Number of options in a snippet, if no more are required."""


def sample_options(name: str, found: Any) -> dict[str, Any]:
    """Return example options as plain data: the required ones, and the stage's own defaults."""
    table = options_of(found) if isinstance(found, type) else OptionTable()
    chosen: dict[str, Any] = {}
    for option in table.options.values():
        value = SAMPLES.get(f"{name}.{option.name}")
        if value is None and option.required:
            value = SAMPLES.get(option.name, _sample_of_type(option))
        if value is not None:
            chosen[option.name] = value
    own = vars(found).get("__annotations__", {}) if isinstance(found, type) else {}
    for option in table.options.values():
        is_plain = isinstance(option.default, int | float | str) and option.default != ""
        if option.name in own and is_plain and len(chosen) < MOST_OPTIONS:
            chosen.setdefault(option.name, option.default)
    return {option: chosen[option] for option in table.options if option in chosen}


def _sample_of_type(option: Option) -> Any:
    """Return a sample for an option that other plugins require."""
    by_type = {"int": 1, "float": 0.5, "bool": True}
    return by_type.get(option.type_name.partition(" ")[0], f"<{option.name}>")


def sample_stage(name: str, found: Any) -> AnyStage | None:
    """Return a stage with example options, or None if these do not suffice."""
    if not isinstance(found, type):
        stage: AnyStage = found
        return stage
    required = {option.name for option in options_of(found).options.values() if option.required}
    given = sample_options(name, found)
    try:
        stage = found(
            **{k: v for k, v in given.items() if k in required or f"{name}.{k}" in SAMPLES}
        )
    except Exception:  # noqa: BLE001 - a class may check its options as it likes
        return None
    return stage


def columns_of(stage: AnyStage) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns that a stage, or the parts of a composite, read and add.

    Without those that begin with `_`, which are removed again.
    """
    reads: dict[str, None] = {}
    adds: dict[str, None] = {}
    for part in flatten([stage]):
        reads |= dict.fromkeys(column for column in part.inputs() if column not in adds)
        adds |= dict.fromkeys(part.outputs())
    return _public(reads), _public(adds)


def _public(columns: Iterable[str]) -> tuple[str, ...]:
    return tuple(column for column in columns if not column.startswith("_"))


def recipe_snippet(name: str, found: Any, options: Mapping[str, Any]) -> str:
    """Return the part of a recipe that names a stage: `input`, `steps` or `output`."""
    lines = [f"stage: {name}", *(f"{key}: {_yaml(value)}" for key, value in options.items())]
    if found.input_type is Empty:
        return "\n  ".join(["input:", *lines])
    if found.output_type is FileGroup:
        return "\n  ".join(["output:", *lines])
    return "\n    ".join([f"steps:\n  - {lines[0]}", *lines[1:]])


def workflow_snippet(name: str, options: Mapping[str, Any], *, can_be_step: bool) -> str:
    """Return a recipe that runs a workflow, and how to write it as a step of a longer one."""
    lines = [f"workflow: {name}", "options:"]
    lines += [f"  {key}: {_yaml(value)}" for key, value in options.items()]
    if can_be_step:
        lines += ["# or, as a step between others:", f"#   - workflow: {name}"]
    return "\n".join(lines)


def python_snippet(place: str, options: Mapping[str, Any], *, is_class: bool = True) -> str:
    """Return the import of a stage or workflow, and a call with the given options."""
    module, _, name = place.partition(":")
    package = module.partition(".")[0]
    if name in getattr(import_module(package), "__all__", ()):
        module = package
    first = f"from {module} import {name.partition('.')[0]}"
    if not is_class:
        return f"{first}\n\nstage = {name}"
    given = [f"{key}={_python(value)}" for key, value in options.items()]
    line = f"{_variable(name)} = {name}({', '.join(given)})"
    if len(line) > _WIDTH:
        line = (
            "\n    ".join([f"{_variable(name)} = {name}(", *(f"{one}," for one in given)]) + "\n)"
        )
    return f"{first}\n\n{line}"


_WIDTH = 76


def _python(value: Any) -> str:
    """Write a value in Python; the objects that recipes write as mappings are left out."""
    is_of_objects = isinstance(value, list) and isinstance(value[0], dict)
    return "[...]" if is_of_objects else repr(value)


def _variable(name: str) -> str:
    return "workflow" if name.endswith("Workflow") else "stage"


def _yaml(value: Any) -> str:
    is_word = isinstance(value, str) and value.replace("_", "a").isalnum() and not value.isdigit()
    if is_word and value.lower() not in ("true", "false", "yes", "no", "on", "off", "null"):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
