"""What goes wrong between us and a Ray cluster."""

from curator_core.errors import CuratorError


class ClusterError(CuratorError):
    """A Ray cluster cannot be started or reached, or its nodes do not fit to this process."""

    exit_code = 5
