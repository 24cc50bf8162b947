"""Options of `run`, by name."""

from pathlib import Path

import pytest
from curator_core import LocalExecutor, Pipeline, RunOptions
from runkit import words_pipeline, write_inputs


@pytest.mark.parametrize("method", [Pipeline.run, Pipeline.stream])
def test_an_unknown_option_is_refused_before_anything_is_written(
    tmp_path: Path, method: object
) -> None:
    write_inputs(tmp_path, ["one"])
    pipeline = words_pipeline(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(TypeError, match=r"'resum' .did you mean resume"):
        method(pipeline, LocalExecutor(workers=0), resum=False)  # type: ignore[operator]
    assert sorted(tmp_path.rglob("*")) == before


def test_options_can_be_prepared(tmp_path: Path) -> None:
    write_inputs(tmp_path, ["one"])
    options: RunOptions = {"resume": False, "progress": False}
    result = words_pipeline(tmp_path).run(LocalExecutor(workers=0), **options)
    assert result.sources_done
