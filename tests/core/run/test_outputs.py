"""Output folders that are not empty."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from curator_core import LocalExecutor, OutputError, Pipeline
from curator_core.io.writers import JsonlWriter
from curator_core.model.tasks import StagedFile
from curator_core.plan.plan import Output, outputs_of
from curator_core.run.outputs import Publisher, claim_outputs
from runkit import published, words_pipeline, write_input, write_inputs

HERE = LocalExecutor(workers=0)


def folder_with(path: Path, *names: str) -> Path:
    path.mkdir(parents=True)
    for name in names:
        (path / name).write_text(name)
    return path


def claimed(*outputs: Output) -> list[str]:
    """The files that stay visible, and whether an earlier run was forgotten."""
    forgotten: list[str] = []
    claim_outputs(outputs, lambda: forgotten.append("forgotten"))
    return [*sorted(p.name for o in outputs for p in Path(o.folder).glob("[!.]*")), *forgotten]


class TestClaims:
    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        assert claimed(Output(str(tmp_path / "out"), "writer")) == ["forgotten"]

    def test_hidden_files_are_not_data(self, tmp_path: Path) -> None:
        out = folder_with(tmp_path / "out", ".curator", ".hidden", "_SUCCESS")
        assert claimed(Output(str(out), "writer")) == ["_SUCCESS", "forgotten"]

    def test_a_dataset_card_may_be_there(self, tmp_path: Path) -> None:
        out = folder_with(tmp_path / "out", "README.md")
        assert claimed(Output(str(out), "writer")) == ["README.md", "forgotten"]

    def test_a_foreign_manifest(self, tmp_path: Path) -> None:
        out = folder_with(tmp_path / "out", "_manifest.json")
        with pytest.raises(OutputError, match=r"holds other data \(_manifest.json\)"):
            claimed(Output(str(out), "writer", "overwrite"))

    def test_a_run_that_ended_before_it_wrote_anything_blocks_nothing(self, tmp_path: Path) -> None:
        out = folder_with(tmp_path / "out", "_manifest.json")
        (out / "_manifest.json").write_text('{"files": []}')
        assert claimed(Output(str(out), "writer")) == ["_manifest.json", "forgotten"]
        (out / "mine.txt").touch()
        with pytest.raises(OutputError, match=r"holds other data \(mine.txt\)"):
            claimed(Output(str(out), "writer"))

    @pytest.mark.parametrize("name", ["mine.txt", "part-0123.jsonl", "_manifest.json"])
    def test_other_data_is_refused(self, name: str, tmp_path: Path) -> None:
        out = folder_with(tmp_path / "out", name)
        with pytest.raises(OutputError) as caught:
            claimed(Output(str(out), "jsonl_writer"))
        assert str(caught.value) == (
            f"stage 'jsonl_writer': output folder {out} already holds other data ({name}); choose "
            "an empty folder, or set the writer's mode to 'append' (to add to it) "
            "or 'overwrite' (to replace it)"
        )

    def test_not_every_name_is_shown(self, tmp_path: Path) -> None:
        out = folder_with(tmp_path / "out", "a", "b", "c", "d", "e")
        with pytest.raises(OutputError, match=r"other data \(a, b, c and 2 more\); choose"):
            claimed(Output(str(out), "writer"))

    def test_append_leaves_everything(self, tmp_path: Path) -> None:
        out = folder_with(tmp_path / "out", "mine.txt", "part-0123456789abcdef.0.jsonl")
        left = claimed(Output(str(out), "writer", "append"))
        assert left == ["mine.txt", "part-0123456789abcdef.0.jsonl", "forgotten"]

    def test_overwrite_replaces_what_we_wrote(self, tmp_path: Path) -> None:
        named = {"file": "named-by-another-writer.csv", "items": 1, "bytes": 1}
        manifest = orjson.dumps({"files": [named]}).decode()
        out = folder_with(tmp_path / "out", f"part-{'0123456789abcdef' * 2}.0.jsonl")
        (out / "named-by-another-writer.csv").write_text("")
        (out / "_manifest.json").write_text(manifest)
        assert claimed(Output(str(out), "writer", "overwrite")) == ["forgotten"]

    @pytest.mark.parametrize("name", ["mine.txt", "part-00000-of-00010.parquet", "dropped-by-me"])
    def test_overwrite_replaces_nothing_else(self, name: str, tmp_path: Path) -> None:
        out = folder_with(tmp_path / "out", name, "part-0123456789abcdef0123456789abcdef.0.txt")
        with pytest.raises(OutputError) as caught:
            claimed(Output(str(out), "writer", "overwrite"))
        assert f"already holds other data ({name}" in str(caught.value)
        assert str(caught.value).endswith(
            "the mode 'overwrite' only replaces files that Curator wrote; choose another folder"
        )
        assert len(list(out.iterdir())) == 2

    def test_nothing_is_deleted_if_another_folder_is_refused(self, tmp_path: Path) -> None:
        ours = folder_with(tmp_path / "ours", "part-0123456789abcdef0123456789abcdef.0.txt")
        theirs = folder_with(tmp_path / "theirs", "mine.txt")
        outputs = [Output(str(path), "writer", "overwrite") for path in (ours, theirs)]
        with pytest.raises(OutputError, match="theirs already holds other data"):
            claimed(*outputs)
        assert len(list(ours.iterdir())) == 1

    def test_a_refused_run_keeps_the_earlier_run(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a b", "c"])
        words_pipeline(tmp_path).run(HERE)
        (tmp_path / "out/theirs.txt").write_text("not ours")
        before = published(tmp_path / "out")
        with pytest.raises(OutputError, match="already holds other data"):
            words_pipeline(tmp_path).run(HERE, resume=False)
        result = words_pipeline(tmp_path).run(HERE)
        assert (result.sources_done, result.sources_skipped) == (0, 2)
        assert published(tmp_path / "out") == before


class TestModes:
    def changed(self, folder: Path, mode: str) -> Pipeline:
        pipeline = words_pipeline(folder, mode=mode)
        pipeline.stages[-1].ending = "!"  # type: ignore[attr-defined]
        return pipeline

    def test_overwrite_starts_over_if_the_pipeline_has_changed(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a b", "c"])
        words_pipeline(tmp_path, mode="overwrite").run(HERE)
        before = published(tmp_path / "out")
        (tmp_path / "in/001.txt").unlink()
        result = self.changed(tmp_path, "overwrite").run(HERE)
        after = published(tmp_path / "out")
        assert result.sources_done == 1
        assert len(after) == len(before) - 1
        assert all(text.endswith(b"!\n") for name, text in after.items() if "part" in name)

    def test_a_pipeline_appends_to_what_it_wrote_from_other_inputs(self, tmp_path: Path) -> None:
        for day in ("monday", "tuesday"):
            write_inputs(tmp_path / day, ["a b", "c bad1"])
        runs = {day: words_pipeline(tmp_path / day, mode="append") for day in ("monday", "tuesday")}
        for pipeline in runs.values():
            pipeline.stages[-1].output_path = str(tmp_path / "out")  # type: ignore[attr-defined]
            assert pipeline.run(HERE).sources_done == 2
        for pipeline in runs.values():
            assert pipeline.run(HERE).sources_skipped == 2
        parts = [name for name in published(tmp_path / "out") if name.startswith("part-")]
        assert len(parts) == 6
        manifest = orjson.loads((tmp_path / "out/_manifest.json").read_bytes())
        assert [file["file"] for file in manifest["files"]] == parts
        write_input(tmp_path / "monday", "001", "bad")
        runs["monday"].run(HERE)
        manifest = orjson.loads((tmp_path / "out/_manifest.json").read_bytes())
        assert (len(manifest["files"]), manifest["items"]) == (5, 5)

    def test_the_same_inputs_may_be_appended_in_another_form(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a b", "c"])
        words_pipeline(tmp_path, mode="append").run(HERE)
        self.changed(tmp_path, "append").run(HERE)
        found = published(tmp_path / "out")
        texts = [text for name, text in found.items() if name.startswith("part-")]
        assert (len(texts), sum(text.endswith(b"!\n") for text in texts)) == (6, 3)

    def test_append_beside_another_run(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a b"])
        (tmp_path / "out").mkdir()
        (tmp_path / "out/mine.txt").write_text("mine")
        words_pipeline(tmp_path, mode="append").run(HERE)
        assert published(tmp_path / "out")["mine.txt"] == b"mine"
        assert len(published(tmp_path / "out")) == 4


class TestManifests:
    def test_they_list_what_belongs_to_the_result(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a b", "bad1"])
        words_pipeline(tmp_path).run(HERE)
        manifest: dict[str, Any] = orjson.loads((tmp_path / "out/_manifest.json").read_bytes())
        names = [name for name in published(tmp_path / "out") if name.startswith("part-")]
        assert [file["file"] for file in manifest["files"]] == names
        assert manifest["run"] == "words"
        assert (manifest["items"], manifest["bytes"]) == (2, 82)

    def test_every_folder_has_its_own(self, tmp_path: Path) -> None:
        outputs = [Output(str(tmp_path / name), "writer") for name in ("out", "out2")]
        publisher = Publisher(outputs, "token")
        files = [StagedFile("", f"{tmp_path}/{name}/part-1", 1, 1) for name in ("out", "out2")]
        publisher.write_manifests("run", files)
        for name in ("out", "out2"):
            manifest = orjson.loads((tmp_path / name / "_manifest.json").read_bytes())
            assert len(manifest["files"]) == 1


class TestPublishing:
    def test_only_leftovers_of_this_run_are_cleared(self, tmp_path: Path) -> None:
        names = [f".part-1.{token}.0123456789abcdef.staged" for token in ("token", "other")]
        out = folder_with(tmp_path / "out", *names)
        assert Publisher([Output(str(out), "writer")], "token").clear_staging() == 1
        assert [path.name for path in out.iterdir()] == names[1:]

    def test_an_unwritten_file_is_not_there(self, tmp_path: Path) -> None:
        publisher = Publisher([Output(str(tmp_path), "writer")], "token")
        (tmp_path / "b").write_text("")
        assert not publisher.is_there(StagedFile(".a", f"{tmp_path}/a"))
        assert publisher.is_there(StagedFile(".b", f"{tmp_path}/b"))
        assert not publisher.is_there(StagedFile(".c", f"{tmp_path}/missing/c"))


def test_every_folder_that_writers_publish_to_is_an_output(tmp_path: Path) -> None:
    writer = JsonlWriter(f"{tmp_path}/kept", mode="append", dropped_path=f"{tmp_path}/dropped")
    plan = words_pipeline(tmp_path)
    plan.stages = [*plan.stages[:-1], writer]
    found = outputs_of(plan._make_plan(None))
    assert [(output.folder, output.mode) for output in found] == [
        (f"{tmp_path}/kept", "append"),
        (f"{tmp_path}/dropped", "append"),
    ]
