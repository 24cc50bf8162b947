"""Help screens and explanations in a terminal of 80 columns."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest
from curator_cli.group import curate as group
from curator_cli.output import wrap
from curator_core.plugins.registry import plugins

Curate = Callable[..., Any]


def commands() -> Iterator[tuple[str, ...]]:
    """Yield every command with its groups."""
    yield ()
    context = click.Context(group)
    for name in group.list_commands(context):
        yield (name,)
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from ((name, inner) for inner in command.list_commands(context))


def words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z]{4,}", text))


@pytest.mark.parametrize("command", list(commands()), ids=" ".join)
def test_a_help_screen_fits_and_breaks_no_word(
    curate: Curate, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = curate(*command, "--help").out
    assert max(map(len, shown.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "4000")
    monkeypatch.setitem(group.context_settings, "max_content_width", 4000)
    assert words(shown) == words(curate(*command, "--help").out)


@pytest.mark.parametrize(
    "command",
    [
        ("stages",),
        ("workflows",),
        ("stages", "--search", "language"),
        ("stages", "text.repeating_duplicate_n_grams_filter"),
        ("stages", "text.fine_web_edu_classifier"),
        ("workflows", "dedup.fuzzy"),
        ("plugins",),
    ],
    ids=" ".join,
)
def test_lists_and_explanations_fit(
    curate: Curate, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = curate(*command).out.splitlines()
    assert [line for line in lines if len(line.rstrip()) > 80] == []


@pytest.mark.parametrize("name", list(plugins().stages))
def test_every_name_of_a_stage_is_on_one_line(name: str) -> None:
    assert len(name) < 60


def test_a_long_message_is_broken_between_words_only() -> None:
    path = "a/long/path-with-hyphens/" * 3
    wrapped = wrap(f"curate: cannot read {path}: permission denied", 40, indent="  ")
    assert path + ":" in wrapped.split()
    assert wrapped.splitlines()[-1] == "  permission denied"
