"""Choose the engine: rules run in Python, or in compiled kernels if numba is installed.

`CURATOR_TEXT_ENGINE` is `auto` (the default), `python` or `compiled`. With `auto`, kernels are
compiled when a stage is set up, and kept on disk for later processes.
"""

import os
import time
from collections.abc import Sequence
from functools import cache
from typing import Any

import pyarrow as pa
from curator_core.logs import log
from curator_core.model import optional_dependencies

from curator_text.compiled.cache import compile_lock, kernel_folder, mark_of
from curator_text.rule_evaluator import evaluate_texts
from curator_text.rule_results import RuleResults, concatenate
from curator_text.text_columns import each_text, split_column

LOG = log("curator_text")
VARIABLE = "CURATOR_TEXT_ENGINE"

_SLOW_S = 2.0
_SAMPLE = "A word, and a few more: the [1] of it.\n\n- is it?\nSee http://a.b/c\u2026"

_loaded: set[str] = set()
"""The kernels that are ready in this process."""


def is_compiled() -> bool:
    """Whether to use kernels; with `auto`, if numba is installed."""
    return optional_dependencies.is_compiled(VARIABLE, "python", "curator-text[fast]")


def evaluate(rules: Sequence[Any], column: pa.ChunkedArray) -> RuleResults:
    """Evaluate the rules over a column of text. Only the first of them may edit the texts."""
    if supports_any(rules) and _is_valid_utf8(column):
        return concatenate([_evaluate_compiled(rules, part) for part in split_column(column)])
    return evaluate_texts(rules, each_text(split_column(column)), column.type)


def supports_any(rules: Sequence[Any]) -> bool:
    """Whether kernels are ready for any of the rules; an edit in Python needs Python for all."""
    names = _kernels_of(rules)
    if not names or (rules[0].edits and not rules[0].has_kernel()) or not is_compiled():
        return False
    if os.environ.get(VARIABLE) == "compiled":  # else only `setup` compiles
        load(rules)
    return names <= _loaded


def load(rules: Sequence[Any]) -> None:
    """Compile the kernels of these rules, or load them if an earlier process compiled them."""
    names = _kernels_of(rules) - _loaded
    if not names or not is_compiled():
        return
    folder = kernel_folder()
    if folder is None:
        _warn_once()
        return
    for rule in rules:
        if rule.has_kernel() and rule.kernel not in _loaded:
            _load(rule, folder)
            _loaded.add(rule.kernel)


def _is_valid_utf8(column: pa.ChunkedArray) -> bool:
    """Whether all of the column is valid UTF-8, which kernels rely on."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _evaluate_compiled(rules: Sequence[Any], column: pa.ChunkedArray) -> RuleResults:
    """Evaluate rules over a column of valid UTF-8; those without a kernel run in Python."""
    from curator_text.compiled.columnar import evaluate_column

    return evaluate_column(rules, column)


def _kernels_of(rules: Sequence[Any]) -> set[str]:
    return {rule.kernel for rule in rules if rule.has_kernel()}


def _load(rule: Any, folder: Any) -> None:
    """Run a kernel on a sample. Of processes that start together, only one compiles."""
    mark = mark_of(rule.kernel, folder)
    if not mark.exists():  # loading needs no lock
        with compile_lock(folder):
            if not mark.exists():  # another process may have compiled meanwhile
                _compile(rule, folder)
                mark.touch()
                return
    _run(rule)


def _compile(rule: Any, folder: Any) -> None:
    started = time.perf_counter()
    LOG.info("compiling %s, once for this machine; it takes some seconds", rule.name)
    _run(rule)
    if (took := time.perf_counter() - started) > _SLOW_S:
        LOG.info("compiled in %.0f s; kept in %s", took, folder)


def _run(rule: Any) -> None:
    _evaluate_compiled([rule], pa.chunked_array([[_SAMPLE, None]], pa.string()))


@cache
def _warn_once() -> None:
    LOG.warning(
        "text rules run in Python, which is slower: no folder for compiled code is writable; "
        "set NUMBA_CACHE_DIR to a folder of your own"
    )
