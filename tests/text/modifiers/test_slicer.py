import pytest
from curator_text import Slicer

TEXT = "  Title: one. two. END rest  "


@pytest.mark.parametrize(
    ("stage", "part"),
    [
        (Slicer(), "Title: one. two. END rest"),
        (Slicer(strip=False), TEXT),
        (Slicer(2, 7), "Title"),
        (Slicer(-6, None), "rest"),
        (Slicer(None, -7), "Title: one. two. END"),
        (Slicer("one", "."), "one. two."),
        (Slicer("one", ".", include_left=False, include_right=False), ". two"),
        (Slicer("nowhere"), ""),
        (Slicer(0, "nowhere"), ""),
        (Slicer("END", "one"), ""),
        (Slicer(100, 200), ""),
    ],
)
def test_slices_of_a_text(stage: Slicer, part: str) -> None:
    assert stage.rewrite(TEXT) == part
