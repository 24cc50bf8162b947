from pathlib import Path

import pytest
from curator_core.errors import InputError
from curator_text import DocumentText, HistogramFilter


def test_histogram_share_excludes_the_end_mark(tmp_path: Path) -> None:
    path = tmp_path / "en"
    path.write_text("e\t100\na\t90\n \t80\n]\t5\nz\t1\n")
    rule = HistogramFilter(str(path), 0.5)
    assert rule.score(DocumentText("ea z")) == 3 / 4
    assert rule.score(DocumentText(" ea ")) == 2 / 4, "white space around the text is not usual"
    assert rule.passes("ea z")
    assert not rule.passes(" ea ")
    assert HistogramFilter(str(path), threshold_char="a").score(DocumentText("ea")) == 0.5
    assert rule.reason == "at most 50 % usual characters"


def test_missing_file_is_a_problem_of_the_plan() -> None:
    [problem] = HistogramFilter("none").check()
    assert problem == "histogram: no file none"
    with pytest.raises(InputError, match="cannot read none"):
        HistogramFilter("none").score(DocumentText("a"))
