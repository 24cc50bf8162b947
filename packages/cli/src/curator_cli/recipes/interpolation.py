"""Substitution of `${env:VAR}` and `${secret:VAR}`."""

import os
import re
from typing import Any

from curator_core.errors import hint, nearest
from curator_core.model.secrets import MIN_LENGTH, Secret, describe_short_secret

from curator_cli.recipes.problems import Path, Problems, variable_problem

_REFERENCE = re.compile(r"\$\$\{|\$\{([^{}]*)\}?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KINDS = ("env", "secret")


class Substitution:
    """Substitutes variables in plain data, and remembers the texts that contain secrets."""

    def __init__(self, problems: Problems, *, may_be_secret: bool = True) -> None:
        self.problems = problems
        self.may_be_secret = may_be_secret
        self.secrets: dict[str, Secret] = {}

    def apply(self, value: Any, path: Path) -> Any:
        if isinstance(value, str):
            return self._text(value, path) if "${" in value else value
        if isinstance(value, dict):
            return {key: self.apply(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.apply(item, (*path, at)) for at, item in enumerate(value)]
        return value

    def _text(self, text: str, path: Path) -> str:
        parts: dict[str, str] = {}

        def put(match: re.Match[str]) -> str:
            if match[1] is None:
                return "${"
            kind, _, name = match[1].partition(":")
            problem = self._problem(match[0], kind, name, path)
            if problem:
                self.problems.spoil(path, problem)
                return ""
            value = os.environ[name]
            if kind == "secret":
                parts[value] = match[0]
            return value

        result = _REFERENCE.sub(put, text)
        if parts:
            self.secrets[result] = Secret(result, text, {**parts, result: text})
        return result

    def _problem(self, written: str, kind: str, name: str, path: Path) -> str | None:
        if not written.endswith("}"):
            return f"{written[:40]!r} is not closed; write $${{ where you mean these two characters"
        if kind not in _KINDS or not _NAME.fullmatch(name):
            remedy = hint(kind, _KINDS) if kind not in _KINDS and name else ""
            return (
                f"{written[:60]!r} is neither ${{env:NAME}} nor ${{secret:NAME}}{remedy}; "
                "write $${ where you mean these two characters"
            )
        if name not in os.environ:
            near = nearest(name, os.environ)
            return f"the environment variable {name!r} is not set" + (
                f" (did you mean {near}?)" if near else ""
            )
        if kind == "secret" and not self.may_be_secret:
            return f"${{secret:{name}}} would be shown here; secrets belong in options of stages"
        if problem := variable_problem(name, path, self.problems):
            return problem
        is_tiny = kind == "secret" and len(os.environ[name]) < MIN_LENGTH
        return describe_short_secret(name) if is_tiny else None
