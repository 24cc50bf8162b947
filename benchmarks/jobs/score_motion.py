"""Scores how much moves in a video, as MotionFilter does: VIDEO BEGUN."""

import json
import sys
import time

from curator_video.analysis.measurements import FrameNeeds
from curator_video.analysis.shared_decode import analyze_span
from curator_video.probing import probe
from curator_video.source import VideoSource
from curator_video.tasks import ClipSpan


def main() -> None:
    source = VideoSource(sys.argv[1])
    begun = time.process_time()
    facts = probe(source)
    found = analyze_span(ClipSpan(source, facts, 0.0, facts.duration), FrameNeeds(motion=True))
    field = found.motion(facts.width, facts.height)
    seconds = time.process_time() - begun
    assert field
    print(json.dumps({"mean": field.mean, "pictures": field.frames, "cpu": seconds}))


if __name__ == "__main__":
    main()
