"""A proposed recipe: its steps with comments, and the YAML."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

_COMMENT_AT = 44
"""Column where comments begin, if the line is not longer."""

_PLAIN = re.compile(r"[A-Za-z_./~][\w./~-]*(\.[\w-]+)*")
_RESERVED = ("true", "false", "null", "yes", "no", "on", "off", "y", "n", "~")


@dataclass(frozen=True)
class Option:
    """An option of a stage, and why it has this value."""

    name: str
    value: Any
    comment: str = ""


@dataclass(frozen=True)
class Step:
    """A stage of the recipe, with a comment above it."""

    stage: str
    options: Sequence[Option] = ()
    comment: str = ""
    kind: str = "stage"
    """Or `workflow`."""


@dataclass
class Proposal:
    """A recipe for the user's files, and what was found out about them."""

    name: str
    about: str
    input: Step
    steps: list[Step]
    output: Step
    findings: list[tuple[str, str]] = field(default_factory=list)
    """What the sample showed, as labels and texts."""

    notes: list[str] = field(default_factory=list)
    """What the user should know, such as files that this recipe does not read."""

    next_commands: list[str] = field(default_factory=list)
    command: str = ""

    def to_yaml(self, file: str) -> str:
        """Return the recipe. `file` is its name, for the commands in its first lines."""
        return "\n".join(self._lines(file)) + "\n"

    def _lines(self, file: str) -> Iterator[str]:
        yield _comment(self.about)
        yield _comment(f"Made by `{self.command}`.")
        yield "# The limits are from a sample: look at what they drop, and change them."
        yield "#"
        width = max((len(label) for label, _ in self.findings), default=0)
        for label, text in self.findings:
            yield _comment(text, f"  {label.ljust(width)}  ")
        yield "#"
        for command, what in (
            (f"curate preview {file} --html", "see what it keeps and drops"),
            (f"curate run {file}", "run it; run it again to resume"),
        ):
            yield _comment(what, f"  {command.ljust(32)}  ")
        yield ""
        yield f"name: {yaml_value(self.name)}"
        yield ""
        yield "input:"
        yield from _step_lines(self.input, "  ")
        yield ""
        yield from self._step_section()
        yield ""
        yield "output:"
        yield from _step_lines(self.output, "  ")

    def _step_section(self) -> Iterator[str]:
        if not self.steps:
            yield "steps: []"
            return
        yield "steps:"
        for number, step in enumerate(self.steps):
            if number:
                yield ""
            if step.comment:
                yield f"  {_comment(step.comment)}"
            first, *others = _step_lines(step, "    ")
            yield f"  - {first.strip()}"
            yield from others


def _step_lines(step: Step, indent: str) -> Iterator[str]:
    yield f"{indent}{step.kind}: {step.stage}"
    for option in step.options:
        line = f"{indent}{option.name}: {yaml_value(option.value)}"
        comment = f"  {_comment(option.comment)}" if option.comment else ""
        yield f"{line.ljust(_COMMENT_AT - 2)}{comment}" if comment else line


def _comment(text: str, before: str = "") -> str:
    """Return a comment in one line: names of files and columns may contain line breaks."""
    shown = "".join(sign if sign.isprintable() else " " for sign in before + text)
    return f"# {shown}".rstrip()


def yaml_value(value: Any) -> str:
    """Return a value as YAML in one line."""
    if isinstance(value, str):
        is_plain = _PLAIN.fullmatch(value) and value.lower() not in _RESERVED
        return value if is_plain else json.dumps(value, ensure_ascii=not value.isprintable())
    if isinstance(value, list):
        return f"[{', '.join(map(yaml_value, value))}]"
    return json.dumps(value)
