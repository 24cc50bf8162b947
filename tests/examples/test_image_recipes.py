"""The recipes of examples/image keep and drop what was planted for them."""

import json
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from corpus.shards import samples, write
from curator_cli.recipes import load_recipe
from curator_core import LocalExecutor, RunResult

RECIPES = Path(__file__).parents[2] / "examples" / "image"


def run(name: str, folder: Path, raw: Path) -> RunResult:
    settings = {
        "input.file_paths": raw / "*.tar",
        "output.path": folder / "kept",
        "output.dropped_path": folder / "dropped",
    }
    recipe = load_recipe(RECIPES / name, [f"{key}={value}" for key, value in settings.items()])
    return recipe.pipeline().run(LocalExecutor(workers=0))


def members(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.glob("*.tar")):
        with tarfile.open(path) as shard:
            for one in shard:
                file = shard.extractfile(one)
                assert file is not None
                yield one.name, file.read()


def planted(folder: Path) -> Counter[str]:
    found = (data for name, data in members(folder) if name.endswith(".json"))
    facts = (json.loads(data) for data in found)
    return Counter(one["planted"] for one in facts if "planted" in one)


def test_samples_are_of_the_same_kinds_each_time() -> None:
    kinds = [[kind for kind, _, _ in samples(60, seed)] for seed in (1, 1, 2)]
    assert kinds[0] == kinds[1] != kinds[2]


def test_clean_webdataset(tmp_path: Path) -> None:
    write(tmp_path / "raw", 2, 60)
    result = run("clean_webdataset.yaml", tmp_path, tmp_path / "raw")
    raw, kept, dropped = (planted(tmp_path / name) for name in ("raw", "kept", "dropped"))
    failed = sum(counts.items_failed + counts.items_rejected for counts in result.stages.values())
    assert sum(kept.values()) + sum(dropped.values()) + failed == 120
    assert kept["good picture"] == raw["good picture"]
    assert not set(kept) & {"small picture", "thin picture", "blank", "blurred"}
    assert not (set(kept) | set(dropped)) & {"cut off", "empty", "no picture", "bomb"}
    before, after = dict(members(tmp_path / "raw")), dict(members(tmp_path / "kept"))
    assert all(before[name] == data for name, data in after.items() if "meta.json" not in name)
    assert any(json.loads(data)["phash"] for name, data in after.items() if "meta.json" in name)
