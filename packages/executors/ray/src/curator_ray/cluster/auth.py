"""Authentication tokens: for clusters that are joined, and for private ones."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from secrets import token_hex
from typing import Any

from curator_ray.cluster.settings import environment
from curator_ray.errors import ClusterError

_OURS = token_hex(32)
_PATIENCE_S = 10.0
_OPEN = "it is open"
_REFUSED = "nauthenticated"
TOKEN_PLACES = (
    "put it into ~/.ray/auth_token or RAY_AUTH_TOKEN (RAY_AUTH_TOKEN_PATH names another file)"
)
_QUESTION = f"""
import sys
from ray._raylet import GcsClient
GcsClient(address=sys.argv[1])
print({_OPEN!r}, flush=True)
"""


@contextmanager
def private_token() -> Iterator[None]:
    """Close a private cluster to others; Ray then leaves no file in the home directory."""
    with reloaded_auth(private_token_variables()):
        yield


def private_token_variables() -> dict[str, str]:
    """The variables by which all processes of a private cluster know its token."""
    return {} if "RAY_AUTH_TOKEN_PATH" in os.environ else {"RAY_AUTH_TOKEN": _OURS}


@contextmanager
def matching_token(address: str) -> Iterator[None]:
    """Show the token that lies on this machine, if there is one and the cluster asks for it.

    `ray start` asks for it as soon as it exists, while `ray.init` with an address shows it only
    when told to. Whoever shows one asks all that call it for the same: where the cluster has none,
    no worker could answer, and none would ever start.
    """
    with reloaded_auth({}) as raylet:
        found = raylet.AuthenticationTokenLoader.instance().has_token(ignore_auth_mode=True)
        mode = os.environ.get("RAY_AUTH_MODE", "").lower()
        if mode == "token":
            _check_mode(address, has_token=found)
        is_shown = found and not mode and not _is_open(address)
        with reloaded_auth({"RAY_AUTH_MODE": "token"} if is_shown else {}):
            _knock(raylet, address, "" if mode in ("", "token") else "; and unset RAY_AUTH_MODE")
            yield


def _check_mode(address: str, *, has_token: bool) -> None:
    """Where the caller wants a token to be shown, there has to be one, and a cluster to take it."""
    if not has_token:
        raise ClusterError(
            f"RAY_AUTH_MODE is token, but there is none: {TOKEN_PLACES}, or unset it"
        )
    if _is_open(address):
        raise ClusterError(
            f"RAY_AUTH_MODE is token, but the cluster at {address} has none, and no worker there "
            "could answer a process that shows one; unset RAY_AUTH_MODE"
        )


def _knock(raylet: Any, address: str, also: str) -> None:
    """Be refused now if at all: `ray.init` would try for 20 s, with a line to stderr each time."""
    try:
        raylet.GcsClient(address=address)
    except Exception as error:
        if type(error).__name__ == "AuthenticationError":
            raise ClusterError(
                f"the cluster at {address} wants a token that this process has not: "
                f"{TOKEN_PLACES}{also}"
            ) from error
        raise


def forget_tokens() -> None:
    """Leave Ray as it was found: one that is joined later may ask for no token, or for another."""
    with reloaded_auth({}):
        pass


def _is_open(address: str) -> bool:
    """Whether the cluster lets in a process without a token.

    It is asked by another process: a refusal is repeated for long, and written to stderr.
    """
    if ":" not in address:
        return False
    asking = subprocess.Popen(
        [sys.executable, "-c", _QUESTION, address],
        env={**os.environ, "RAY_AUTH_MODE": "disabled"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    late = threading.Timer(_PATIENCE_S, asking.kill)
    late.start()
    try:
        assert asking.stdout is not None
        lines = iter(asking.stdout.readline, "")
        return next((_OPEN in line for line in lines if _OPEN in line or _REFUSED in line), False)
    finally:
        late.cancel()
        asking.kill()
        asking.communicate()


@contextmanager
def reloaded_auth(variables: Mapping[str, str]) -> Iterator[Any]:
    """Ray keeps the mode and the token that it read first, whatever the variables say later."""
    raylet: Any = import_module("ray._raylet")  # compiled, and says nothing of its types
    try:
        with environment(variables):
            _read(raylet)
            yield raylet
    except BaseException:
        _read(raylet)  # nothing was joined, so nothing of it is to stay
        raise


def _read(raylet: Any) -> None:
    raylet.AuthenticationTokenLoader.instance().reset_cache()
    raylet.Config.initialize("")
