"""Ray's dashboard: log its address."""

import logging
import os
from contextlib import suppress

from curator_ray.cluster.connection import Connection
from curator_ray.cluster.private import TOKEN_FILE
from curator_ray.cluster.settings import quiet_ray

LOG = logging.getLogger("curator_core")


def log_dashboard(connection: Connection) -> None:
    """Log the address of the cluster's dashboard, if there is one that Ray knows."""
    address = dashboard_address()
    if not address:
        LOG.warning("Ray knows no dashboard of the cluster at %s", connection.address)
        return
    token = os.path.join(connection.folder, TOKEN_FILE) if connection.folder else ""
    where = f"; it asks for the token in {token}" if os.path.exists(token) else ""
    LOG.info("Ray's dashboard is at http://%s%s", address, where)


def dashboard_address() -> str | None:
    """Return host and port of the dashboard of the cluster that this process is connected to."""
    import ray

    address = None
    with quiet_ray(), suppress(Exception):  # workers and clients of Ray do not know it
        address = ray.init(ignore_reinit_error=True).dashboard_url
    return address or None
