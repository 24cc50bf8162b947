"""Listing: runs in which no worker has anything to do, so that Ray need not be there.

All is done already, or the only stage is the one that lists the sources.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from curator_core import AnyTask

if TYPE_CHECKING:
    from curator_core import Run


def only_listed(run: "Run") -> Iterator[AnyTask]:
    """The sources are the outputs."""
    from curator_core.model.reports import CallReport

    for source in run.sources():
        yield from run.add_output(source)
        yield from run.apply_report(CallReport(), [source])
