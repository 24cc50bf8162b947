"""Descriptions of all stages and workflows: from core's index, or else by loading them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from curator_core.errors import CuratorError
from curator_core.plugins.catalog import Offer
from curator_core.plugins.index import Description, find_description, packaged_index
from curator_core.plugins.registry import Plugins

if TYPE_CHECKING:
    from curator_cli.recipes import WorkflowHelp


@dataclass(frozen=True)
class Listed:
    """An installed stage or workflow. `broken` says why it does not load."""

    description: Description
    owner: str
    broken: str | None = None

    def to_json(self) -> dict[str, Any]:
        described = self.description
        return {
            "name": described.name,
            "kind": described.kind,
            "group": described.group.name,
            "owner": self.owner,
            "place": described.place,
            "doc": described.summary,
            "reads": list(described.reads),
            "adds": list(described.adds),
            "extras": list(described.extras),
            "broken": self.broken,
        }


def list_installed(plugins: Plugins, *kinds: str) -> list[Listed]:
    """Return what the plugins offer of these kinds ("stage", "workflow")."""
    catalogs = [plugins.stages, plugins.workflows]
    return [
        _list_offer(offer, catalog.kind, plugins)
        for catalog in catalogs
        if catalog.kind in kinds
        for offer in catalog.values()
    ]


def list_missing(plugins: Plugins, *kinds: str) -> Iterator[Description]:
    """Yield what packages of this project offer that are not installed."""
    there = {one.name for one in plugins.working} | {one.name for one in plugins.broken}
    for description in packaged_index().values():
        if description.plugin not in there and description.kind in kinds:
            yield description


def describe(offer: Offer, kind: str, plugins: Plugins) -> Description:
    """Describe a stage or workflow by loading it."""
    from curator_cli.recipes import StageHelp, stage_help, workflow_help

    explain = workflow_help if kind == "workflow" else stage_help
    found: StageHelp | WorkflowHelp = explain(offer.name, plugins)
    return Description(
        name=offer.name,
        kind=kind,
        place=offer.place,
        summary=" ".join(found.doc.partition("\n\n")[0].split()),
        options=tuple(option.name for option in found.options),
        reads=found.reads if isinstance(found, StageHelp) else (),
        adds=found.adds if isinstance(found, StageHelp) else (),
    )


def _list_offer(offer: Offer, kind: str, plugins: Plugins) -> Listed:
    packaged = find_description(offer.name, offer.place)
    if packaged is not None:
        return Listed(packaged, offer.owner)
    try:
        return Listed(describe(offer, kind, plugins), offer.owner)
    except CuratorError as error:
        return Listed(Description(offer.name, kind, offer.place, ""), offer.owner, str(error))
