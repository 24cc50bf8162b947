"""Scores how much moves in a video, as MotionFilter does: VIDEO BEGUN."""

import json
import sys
import time

from curator_video.analysis.examining import examined
from curator_video.analysis.wants import Wanted
from curator_video.clips import Span
from curator_video.probing import probe
from curator_video.sources import VideoSource


def main() -> None:
    source = VideoSource(sys.argv[1])
    begun = time.process_time()
    facts = probe(source)
    found = examined(Span(source, facts, 0.0, facts.duration), Wanted(motion=True))
    field = found.motion(facts.width, facts.height)
    seconds = time.process_time() - begun
    assert field
    print(json.dumps({"mean": field.mean, "pictures": field.pictures, "cpu": seconds}))


if __name__ == "__main__":
    main()
