"""Warming: compile or load kernels before the first document."""

import time
from collections.abc import Sequence

import pyarrow as pa
from curator_core.logs import log

from curator_text.compiled import editing
from curator_text.compiled.caching import is_empty, kernel_folder, mark_of, one_at_a_time
from curator_text.compiled.forms import form_of
from curator_text.compiled.judging import judged_at_once
from curator_text.judging import Rule
from curator_text.sets.editing import EditingRuleSet

LOG = log("curator_text")

_SLOW_S = 2.0
_SAMPLE = "A word, and a few more: the [1] of it.\n\n- is it?\nSee http://a.b/c\u2026"


def warm(rules: Sequence[Rule]) -> None:
    """Prepare the kernels of these rules. Of processes that start together, only one compiles."""
    mark = mark_of(type(rule).__name__ for rule in rules)
    if not mark.exists():  # loading needs no lock
        with one_at_a_time():
            if not mark.exists():  # another process may have compiled meanwhile
                _compile(rules)
                mark.touch()
                return
    _run(rules)


def _compile(rules: Sequence[Rule]) -> None:
    if is_empty():
        LOG.info("compiling the rules for text, once for this machine; it takes some seconds")
    started = time.perf_counter()
    _run(rules)
    took = time.perf_counter() - started
    if took > _SLOW_S:  # compiling always takes longer than this
        LOG.info("compiled in %.0f s; kept in %s", took, kernel_folder())


def _run(rules: Sequence[Rule]) -> None:
    column = pa.chunked_array([[_SAMPLE, None]], pa.string())
    for place, rule in enumerate(rules):
        if form_of(rule) is not None:  # one by one: an earlier rule could drop all rows
            judged_at_once(column, [(str(place), rule)])
        if isinstance(rule, EditingRuleSet) and editing.fits(rule):
            editing.edited_at_once(column, [(f"c4 {place}", rule)])
