"""Cuts recordings into segments of speech: examples/audio/speech_segments.yaml, by N workers."""

import json
import shutil
import sys
import time
from pathlib import Path

from curator_cli.recipes import load_recipe
from curator_core import LocalExecutor

RECIPE = Path(__file__).parents[2] / "examples" / "audio" / "speech_segments.yaml"
PER_BATCH = 4


def main() -> None:
    recordings, output, workers = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    shutil.rmtree(output, ignore_errors=True)
    settings = [
        f"input.file_paths={recordings}",
        f"input.files_per_partition={PER_BATCH}",
        f"output.path={output / 'segments'}",
        f"output.dropped_path={output / 'dropped'}",
    ]
    recipe = load_recipe(RECIPE, settings)
    begun = time.perf_counter()
    recipe.pipeline().run(LocalExecutor(workers=workers))
    seconds = time.perf_counter() - begun
    files = len(list((output / "segments").rglob("*.flac")))
    print(json.dumps({"seconds": seconds, "files": files}))


if __name__ == "__main__":
    main()
