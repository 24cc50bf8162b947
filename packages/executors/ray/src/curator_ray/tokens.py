"""Tokens: what a process shows to the cluster that it joins, or to one of its own."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from secrets import token_hex
from typing import Any

from curator_ray.settings import environment

_OURS = token_hex(32)


@contextmanager
def token_of_our_own() -> Iterator[None]:
    """Close a private cluster to others; Ray then leaves no file in the home directory."""
    given = {} if "RAY_AUTH_TOKEN_PATH" in os.environ else {"RAY_AUTH_TOKEN": _OURS}
    with _read_anew(given):
        yield


@contextmanager
def token_at_hand() -> Iterator[None]:
    """Show the token that lies on this machine, if there is one.

    `ray start` asks for it as soon as it exists, while `ray.init` with an address shows it only
    when told to; a cluster that asks for none does not mind.
    """
    with _read_anew({}) as raylet:
        found = raylet.AuthenticationTokenLoader.instance().has_token(ignore_auth_mode=True)
        shown = {"RAY_AUTH_MODE": "token"} if found and "RAY_AUTH_MODE" not in os.environ else {}
        with _read_anew(shown):
            yield


@contextmanager
def _read_anew(variables: Mapping[str, str]) -> Iterator[Any]:
    """Ray keeps the mode and the token that it read first, whatever the variables say later."""
    raylet: Any = import_module("ray._raylet")  # compiled, and says nothing of its types
    with environment(variables):
        raylet.AuthenticationTokenLoader.instance().reset_cache()
        raylet.Config.initialize("")
        yield raylet
