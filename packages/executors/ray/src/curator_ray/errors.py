"""Errors between this process and a Ray cluster."""

from curator_core.errors import CuratorError


class ClusterError(CuratorError):
    """A cluster cannot be started or reached, or its nodes do not match this process."""

    exit_code = 5
