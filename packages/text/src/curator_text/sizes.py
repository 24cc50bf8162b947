"""Sizes: limits in bytes that options name, such as 16MiB."""

from collections.abc import Iterator

from curator_core import CuratorError
from curator_core.io.partitioning import parsed_size


def size_problems(name: str, size: int | str | None, example: str) -> Iterator[str]:
    """Describe the problem if an option is not a valid size."""
    try:
        parsed_size(size)
    except CuratorError:
        yield f"{name} is {size!r}, but must be a size such as {example}"
