"""Listing: pipelines whose only stage lists the sources, so that no worker has anything to do."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from curator_core.outcomes import AnyTask

if TYPE_CHECKING:
    from curator_core.runs.running import Run


def only_listed(run: "Run") -> Iterator[AnyTask]:
    """The sources are the outputs."""
    from curator_core.reports import CallReport

    for source in run.sources():
        yield from run.deliver(source)
        yield from run.absorb(CallReport(), [source])
