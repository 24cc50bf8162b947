"""Pictures of the documentation are used, small, and show the figures of the benchmarks page."""

import re
from pathlib import Path

import pytest
from pagekit import DOCS, REPOSITORY

IMAGES = sorted((DOCS / "images").iterdir())
PAGES = [REPOSITORY / "README.md", *DOCS.glob("**/*.md")]
LARGEST = 150_000


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.name)
def test_pictures_are_small_and_used(image: Path) -> None:
    shown = {name for page in PAGES for name in re.findall(r"!\[.+?\]\((.+?)\)", page.read_text())}
    assert image.name in {Path(name).name for name in shown}
    assert image.stat().st_size <= LARGEST


def test_the_chart_shows_the_measured_speeds() -> None:
    """`scripts/docs_images.py chart` draws it from this table."""
    table = (DOCS / "benchmarks.md").read_text().partition("## Text")[2].partition("\n## ")[0]
    speeds = re.findall(r"\b\d+,\d{3}\b", "".join(re.findall(r"^\| .*", table, re.M)))
    chart = (DOCS / "images" / "text_speed.svg").read_text()
    assert len(speeds) == 4
    assert [speed for speed in speeds if f">{speed}<" not in chart] == []
