"""Secrets: hidden in reprs, and removed from all text that is written."""

import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

from curator_core.errors import PipelineError

MASK = "***"
MIN_LENGTH = 4
"""Redacting a shorter secret would remove too much unrelated text."""

_known: dict[str, str] = {}


class Secret(str):
    """Text that behaves like its value, but whose repr is `${secret:NAME}`."""

    shown: str
    _parts: dict[str, str]

    def __new__(cls, value: str, shown: str, parts: Mapping[str, str]) -> "Secret":
        made = super().__new__(cls, value)
        made.shown = shown
        made._parts = dict(parts)
        for part, label in made._parts.items():
            remember(part, label)
        return made

    def __repr__(self) -> str:
        return repr(self.shown)

    def __reduce__(self) -> tuple[object, ...]:
        return Secret, (str(self), self.shown, self._parts)


def secret(variable: str) -> Secret:
    """Return the secret in an environment variable, for pipelines written in Python."""
    value = os.environ.get(variable)
    if value is None:
        raise PipelineError(f"the environment variable {variable!r} of a secret is not set")
    if len(value) < MIN_LENGTH:
        raise PipelineError(describe_short_secret(variable))
    label = f"${{secret:{variable}}}"
    return Secret(value, label, {value: label})


def describe_short_secret(variable: str) -> str:
    return (
        f"the secret in {variable!r} has fewer than {MIN_LENGTH} characters, too few to be hidden; "
        f"use ${{env:{variable}}} if it is not a secret"
    )


def remember(value: str, label: str) -> None:
    """Make `redact` replace `value`, in all its escaped forms, by `label` from now on."""
    lines = value.splitlines()
    parts = [value] + ([line for line in lines if len(line) >= 8] if len(lines) > 1 else [])
    for part in parts:
        if len(part.strip()) < MIN_LENGTH:
            continue
        for form in _forms(part):
            _known[form] = label
    _pattern.cache_clear()


def redact(text: str) -> str:
    """Return `text` without known secrets and without credentials in URLs."""
    if _known:
        text = _pattern().sub(lambda match: _known[match[0]], text)
    text = _USERINFO.sub(rf"\1{MASK}@", text)
    return _SIGNED.sub(rf"\1{MASK}", text)


def mask_secrets(value: Any, name: str = "") -> Any:
    """Return JSON-like data with secrets, and values with credential-like names, masked."""
    if isinstance(value, Secret):
        return value.shown
    if isinstance(value, str):
        return MASK if value and is_credential(name) else redact(value)
    if isinstance(value, Mapping):
        return {key: mask_secrets(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask_secrets(item, name) for item in value]
    return value


def is_credential(name: str) -> bool:
    """Return whether an option or header of this name holds a credential.

    For example `secret`, `hf_token`, `X-Api-Key` or `account_key`.
    """
    return _CREDENTIAL.fullmatch(name.lower().replace("-", "_")) is not None


def mask_argument(text: str) -> str:
    """Return a command-line argument, such as `input.headers={X-Api-Key: …}`, without keys."""
    parts, done = [], 0
    for name in _NAME.finditer(text):
        if name.start() < done or not is_credential(name[1]):
            continue
        if value := _VALUE.match(text, name.end()):
            parts += [text[done : name.end()], value[0] if value[0].startswith("${") else MASK]
            done = value.end()
    return redact("".join((*parts, text[done:])))


_NAME = re.compile(r"""(?<![\w-])([\w-]++)["']?\s*+[=:]\s*+["']?+""")
_VALUE = re.compile(r"""\$\{[^}]*+\}|[^{\[,}\]"']++""")
_CREDENTIAL = re.compile(
    r"(.*_)?(password|passwd|secret|api_?key|access_key|secret_key|private_key|account_key"
    r"|connection_string|authorization|cookie)"
    r"|(x_)?((auth|access|session|security|sas|bearer|refresh|hf|api)_)?token"
)
_USERINFO = re.compile(r"""(\b[A-Za-z][A-Za-z0-9+.-]{0,30}://)[^\s/?#"'<>\\]*@""")
_SIGNED = re.compile(
    r"""([?&](?:[\w-]*(?:signature|credential|security-token|password|secret|api_?key)|sig|token"""
    r"""|access_token)=)[^&\s"'<>\\]+""",
    re.IGNORECASE,
)


def _forms(value: str) -> set[str]:
    """Return the forms that a value has in JSON, in a repr, and in a URL."""
    return {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
        quote(value, safe=""),
        quote(value),
        quote_plus(value),
    }


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    longest_first = sorted(_known, key=len, reverse=True)
    return re.compile("|".join(re.escape(form) for form in longest_first))
