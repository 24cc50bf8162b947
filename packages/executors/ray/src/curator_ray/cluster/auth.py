"""Authentication tokens: for clusters that are joined, and for private ones.

Ray reads RAY_AUTH_MODE and the token once, and keeps them. A process that joins one cluster after
another has to make it read them again, which only tested versions of Ray can do (see `compat`). On
others, the variables have to be right when the process starts.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from secrets import token_hex

from curator_ray.cluster.settings import environment
from curator_ray.compat import CONFIG, GCS_CLIENT, TOKEN_LOADER, is_tested
from curator_ray.errors import ClusterError

_TOKEN = token_hex(32)
_TIMEOUT_S = 10.0
_OPEN = "it is open"
_REFUSED = "nauthenticated"
_TOKEN_PLACES = (
    "put it into ~/.ray/auth_token or RAY_AUTH_TOKEN (RAY_AUTH_TOKEN_PATH names another file)"
)
_ASK_WITHOUT_TOKEN = f"""
import importlib, sys
module, name = {GCS_CLIENT.path!r}.split(":")
getattr(importlib.import_module(module), name)(address=sys.argv[1])
print({_OPEN!r}, flush=True)
"""


@contextmanager
def private_token() -> Iterator[None]:
    """Close a private cluster with a token. So Ray writes none into the home directory.

    Untested versions of Ray decide themselves whether they ask for it: this process could not show
    it if Ray was imported before.
    """
    variables = {} if "RAY_AUTH_TOKEN_PATH" in os.environ else {"RAY_AUTH_TOKEN": _TOKEN}
    if is_tested():
        variables["RAY_AUTH_MODE"] = os.environ.get("RAY_AUTH_MODE", "token")
    with reloaded_auth(variables):
        yield


@contextmanager
def matching_token(address: str) -> Iterator[None]:
    """Show this machine's token if there is one and the cluster asks for it.

    `ray start` asks for the token as soon as one exists, but `ray.init` with an address shows it
    only with RAY_AUTH_MODE. A process that shows a token asks everything that calls it for the
    same one. In a cluster without a token no worker could answer, so none would ever start.
    """
    with reloaded_auth({}):
        found = has_token()
        mode = os.environ.get("RAY_AUTH_MODE", "").lower()
        if found is None:
            yield
            return
        if mode == "token":
            _check_token_is_wanted(address, found=found)
        is_shown = found and not mode and not _is_open(address)
        with reloaded_auth({"RAY_AUTH_MODE": "token"} if is_shown else {}):
            _check_not_refused(
                address, "" if mode in ("", "token") else "; and unset RAY_AUTH_MODE"
            )
            yield


def forget_tokens() -> None:
    """Restore Ray's settings. The next cluster may want another token, or none."""
    with reloaded_auth({}):
        pass


def missing_token_error(address: str, also: str = "") -> ClusterError:
    return ClusterError(
        f"the cluster at {address} wants a token, and this process has none: {_TOKEN_PLACES}{also}"
    )


@contextmanager
def reloaded_auth(variables: Mapping[str, str]) -> Iterator[None]:
    """Have Ray read the mode and the token again, with these variables."""
    try:
        with environment(variables):
            _reload()
            yield
    except BaseException:
        _reload()  # nothing was joined, so restore what was there
        raise


def _reload() -> None:
    loader, config = TOKEN_LOADER.get(), CONFIG.get()
    if loader is not None and config is not None:
        loader.instance().reset_cache()
        config.initialize("")


def has_token() -> bool | None:
    """Whether there is a token on this machine; None if this version of Ray cannot say."""
    loader = TOKEN_LOADER.get()
    return None if loader is None else loader.instance().has_token(ignore_auth_mode=True)


def _check_token_is_wanted(address: str, *, found: bool) -> None:
    if not found:
        raise ClusterError(
            f"RAY_AUTH_MODE is token, but there is none: {_TOKEN_PLACES}, or unset it"
        )
    if _is_open(address):
        raise ClusterError(
            f"RAY_AUTH_MODE is token, but the cluster at {address} has none, and no worker there "
            "could answer a process that shows one; unset RAY_AUTH_MODE"
        )


def _check_not_refused(address: str, also: str) -> None:
    """Connect once: if refused, `ray.init` would try for 20 s, and log to stderr each time."""
    client = GCS_CLIENT.get()
    if client is None:
        return
    try:
        client(address=address)
    except Exception as error:
        if type(error).__name__ == "AuthenticationError":
            raise missing_token_error(address, also) from error
        raise


def _is_open(address: str) -> bool:
    """Whether the cluster accepts a process without a token.

    Another process asks, because a refusal is repeated for long, and written to stderr.
    """
    if ":" not in address:
        return False
    process = subprocess.Popen(
        [sys.executable, "-c", _ASK_WITHOUT_TOKEN, address],
        env={**os.environ, "RAY_AUTH_MODE": "disabled"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    timer = threading.Timer(_TIMEOUT_S, process.kill)
    timer.start()
    try:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        return next((_OPEN in line for line in lines if _OPEN in line or _REFUSED in line), False)
    finally:
        timer.cancel()
        process.kill()
        process.communicate()
