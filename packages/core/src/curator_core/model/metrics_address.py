"""The address at which the metrics of a run are served."""

from typing import TypeAlias

MetricsAddress: TypeAlias = bool | int | str | None
"""Whether and where metrics are served. True: the first free port from 9464 on. A port or
`HOST:PORT`: exactly there.
"""
