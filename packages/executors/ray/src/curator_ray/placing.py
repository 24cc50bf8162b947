"""Placing: on which nodes a stage may run. None with GPUs for one that needs none, if others can.

So work for CPUs never keeps a model waiting.
"""

from collections.abc import Collection, Iterable, Sequence

from curator_core import Resources

from curator_ray.demands import room_on
from curator_ray.facts import NodeFacts


def may_hold(
    wanted: Resources,
    nodes: Sequence[NodeFacts],
    with_gpus: Collection[str],
    expected: Iterable[NodeFacts] = (),
) -> list[str]:
    """The nodes for a stage: none with GPUs for one that needs none, if there are others.

    Or if others are `expected` to come in a moment.
    """
    fit = _fitting(wanted, nodes)
    if wanted.needs_gpu:
        return fit
    left = [node_id for node_id in fit if node_id not in with_gpus]
    if left or set(with_gpus).issuperset(_fitting(wanted, expected)):
        return left or fit
    return []


def kept_off(wanted: Resources, nodes: Sequence[NodeFacts]) -> list[str]:
    """The nodes that such a stage has to stay off: all that have GPUs, or none."""
    with_gpus = {node.node_id for node in nodes if node.gpus}
    if wanted.needs_gpu or not with_gpus:
        return []
    held = may_hold(wanted, nodes, with_gpus)
    return sorted(with_gpus) if held and with_gpus.isdisjoint(held) else []


def _fitting(wanted: Resources, nodes: Iterable[NodeFacts]) -> list[str]:
    return [node.node_id for node in nodes if room_on(wanted, node) != 0]
