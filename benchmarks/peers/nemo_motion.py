"""NeMo Curator's motion score: SITE VIDEO BEGUN; SITE is where its package is installed.

Only its one module is loaded, since the front door of its package asks for all of its engines.
"""

import importlib.util
import io
import json
import sys
import time
from pathlib import Path
from typing import Any

MODULE = "nemo_curator/stages/video/filtering/motion_vector_backend.py"


def loaded(site: Path) -> Any:
    spec = importlib.util.spec_from_file_location("motion_vector_backend", site / MODULE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    backend = loaded(Path(sys.argv[1]))
    content = Path(sys.argv[2]).read_bytes()
    begun = time.process_time()
    seen = backend.decode_for_motion(io.BytesIO(content), 1, target_duration_ratio=1.0)
    found = backend.check_if_small_motion(seen.frames, seen.frame_size)
    seconds = time.process_time() - begun
    print(json.dumps({"mean": found.global_mean, "pictures": len(seen.frames), "cpu": seconds}))


if __name__ == "__main__":
    main()
