"""The README, Getting started and the guides, followed in an empty folder as a reader would."""

from pathlib import Path

import pytest
from pagekit import DOCS, REPOSITORY, blocks_of, follow, missing_packages

GUIDES = [
    REPOSITORY / "README.md",
    DOCS / "getting_started.md",
    *sorted((DOCS / "guides").glob("*.md")),
]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_a_guide_can_be_followed(guide: Path, tmp_path: Path) -> None:
    if missing := missing_packages(blocks_of(guide.read_text())):
        pytest.skip(f"needs {', '.join(sorted(missing))}")
    follow(guide, tmp_path)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_a_guide_shows_output(guide: Path) -> None:
    assert any(block.language == "text" for block in blocks_of(guide.read_text()))
