"""Runs the recipe of examples/video on a folder of films: FILMS OUT WORKERS BEGUN."""

import json
import shutil
import sys
import time
from pathlib import Path

from curator_cli.recipes import load_recipe
from curator_core import LocalExecutor

RECIPE = Path(__file__).parents[2] / "examples" / "video" / "split_and_filter.yaml"


def main() -> None:
    films, out, workers = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    shutil.rmtree(out, ignore_errors=True)
    recipe = load_recipe(RECIPE, [f"input.file_paths={films}", f"output.path={out}"])
    begun = time.perf_counter()
    result = recipe.pipeline().run(LocalExecutor(workers=workers))
    seconds = time.perf_counter() - begun
    clips = len(list((out / "clips").glob("*.mp4")))
    print(json.dumps({"seconds": seconds, "clips": clips, "failed": len(result.quarantined)}))


if __name__ == "__main__":
    main()
