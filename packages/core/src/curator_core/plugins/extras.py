"""Extras of packages: which one installs a module, and what of one is not installed."""

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version


def find_extra(module: str, distribution: str) -> str | None:
    """Return the name of the extra that installs the package of `module`, or None."""
    wanted = _normal(module.partition(".")[0])
    for package, extra in _optional(distribution):
        if _normal(package.partition("[")[0]) in (wanted, _PACKAGES.get(wanted)):
            return extra
    return None


def missing_packages(requirement: str) -> list[str]:
    """Return the packages that `pip install requirement` would add: `curator-text[models]`."""
    distribution, _, extra = requirement.rstrip("]").partition("[")
    if not _is_installed(distribution):
        return [distribution]
    found: list[str] = []
    for package, of_extra in _optional(distribution):
        if of_extra == extra:
            found += missing_packages(package)
    return list(dict.fromkeys(found))


def _optional(distribution: str) -> Iterator[tuple[str, str]]:
    """Yield the optional packages of a distribution, each with the name of its extra."""
    try:
        needed = requires(distribution) if distribution else None
    except PackageNotFoundError:
        return
    for line in needed or ():
        package = re.match(r"[A-Za-z0-9._-]+(\[[A-Za-z0-9._-]+\])?", line)
        extra = re.search(r"""extra\s*==\s*["']([^"']+)["']""", line)
        if package and extra:
            yield package[0], extra[1]


def _is_installed(distribution: str) -> bool:
    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True


_PACKAGES = {"pil": "pillow", "cv2": "opencv-python", "sklearn": "scikit-learn", "yaml": "pyyaml"}
"""Packages whose import name differs from their distribution name."""


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
