"""The examples of embeddings and passages run as documented."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cpukit import one_cpu

EXAMPLES = Path(__file__).parents[2] / "examples/dedup"


def run(example: str, *arguments: Path) -> str:
    command = [sys.executable, str(EXAMPLES / example), *map(str, arguments)]
    environment = {"CURATOR_EXECUTOR": "local", "PATH": ""}
    with one_cpu():
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return done.stdout


def test_embeddings_example_counts_duplicates_by_eps(tmp_path: Path) -> None:
    turn = np.arccos(1 - np.array([0, 0.0005, 0.02, 0.06, 0.15, 0.6]))
    rows = np.stack((np.cos(turn), np.sin(turn)), axis=1)[[0, 1, 2, 3, 4, 5, 5]]
    lines = (json.dumps({"embedding": row}) + "\n" for row in rows.tolist())
    (tmp_path / "a.jsonl").write_text("".join(lines))
    lines = run("embeddings.py", tmp_path / "a.jsonl", tmp_path / "out").splitlines()
    numbers = [int(line.split()[-1]) for line in lines]
    assert [line.split()[1] for line in lines] == ["0.001", "0.01", "0.05", "0.1", "0.2"]
    assert numbers == sorted(numbers)
    assert numbers[0] == 2
    assert numbers[-1] > numbers[0]


def test_embeddings_example_counts_pairs_at_the_limit_as_the_workflow_does(tmp_path: Path) -> None:
    """The twelve pairs are in different planes, so that rounding puts some just below the limit."""
    pairs = np.zeros((12, 2, 24))
    for number in range(12):
        turned = number / 7 + np.array([0, np.arccos(0.95)])
        pairs[number, :, 2 * number : 2 * number + 2] = np.stack(
            (np.cos(turned), np.sin(turned)), axis=1
        )
    lines = (json.dumps({"embedding": row}) + "\n" for row in pairs.reshape(24, 24).tolist())
    (tmp_path / "a.jsonl").write_text("".join(lines))
    lines = run("embeddings.py", tmp_path / "a.jsonl", tmp_path / "out").splitlines()
    assert [int(line.split()[-1]) for line in lines] == [0, 0, 12, 12, 12]


def test_passages_example_cuts_boilerplate_and_copies(tmp_path: Path) -> None:
    def words(name: str, number: int) -> str:
        return " ".join(f"{name}{place}" for place in range(number))

    pages = [
        f"Home\n{words('a', 40)}\n{words('same', 35)}",
        f"Home\n{words('b', 40)} {words('same', 35)}",
        f"HOME!\n{words('c', 10)}",
        words("d", 5),
    ]
    raw = "".join(json.dumps({"text": page}) + "\n" for page in pages)
    (tmp_path / "a.jsonl").write_text(raw)
    printed = run("passages.py", tmp_path / "a.jsonl", tmp_path / "out")
    assert printed == "4 pages\n1 lines stood three times or more\n1 pages were left out\n"
    [file] = (tmp_path / "out/passages").glob("part-*")
    left = [json.loads(line)["text"] for line in file.read_text().splitlines()]
    assert left == [pages[0].removeprefix("Home\n"), words("b", 40), words("d", 5)]


@pytest.mark.parametrize("example", ["domains.py", "embeddings.py", "passages.py"])
def test_example_without_arguments_prints_its_usage(
    example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(EXAMPLES / example), "raw"])
    with pytest.raises(SystemExit, match=f"python examples/dedup/{example} [A-Z]+ OUT"):
        runpy.run_path(str(EXAMPLES / example), run_name="__main__")
