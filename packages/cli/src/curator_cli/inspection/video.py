"""Recipes for videos: clips of single shots, without those in which there is nothing to see."""

from collections import Counter
from collections.abc import Sequence

from curator_core.errors import InputError
from curator_core.preview import Record

from curator_cli.inspection.context import InspectionContext
from curator_cli.inspection.limits import Bound, LimitRule, limit_step
from curator_cli.inspection.proposal import Option, Proposal, Step
from curator_cli.inspection.quantiles import finite, percent, quantile, typical
from curator_cli.inspection.sampling import SampledRecords, make_stage, sample_facts

_VIDEOS = 100
_MOST_DECODED_S = 120
"""Seconds of video that are decoded to measure clips."""

_SHORTEST_CLIP, _LONGEST_CLIP = 2, 10

_SIZE = LimitRule("video.resolution_filter", (
    Bound("min_short_side", "low", 0.05, "have a shorter side of fewer pixels", whole=True),
), "shorter")  # fmt: skip

_MEASURED = (
    LimitRule("video.black_filter", (
        Bound("max_black_share", "high", 0.05, "are black for longer"),
    ), "black_share"),
    LimitRule("video.freeze_filter", (
        Bound("max_frozen_share", "high", 0.05, "are frozen for longer"),
    ), "frozen_share"),
    LimitRule("video.blur_filter", (
        Bound("min_sharpness", "low", 0.05, "are less sharp"),
    ), "sharpness"),
)  # fmt: skip


def propose_video(context: InspectionContext) -> Proposal:
    """Return a recipe that cuts videos into clips of single shots."""
    paths = context.chosen(_VIDEOS, _VIDEOS, 1)  # only their indexes are read
    reader = make_stage(context.plugins, context.reader, file_paths=paths)
    sample = sample_facts([reader], _VIDEOS)
    videos = [record for record in sample.records if record.get("duration")]
    if not videos:
        why = f": {sample.failures[0]}" if sample.failures else ""
        raise InputError(f"none of {context.group} could be read{why}")
    clips = _measure_clips(context, videos)
    return Proposal(
        context.name,
        f"{context.group}, cut into clips of single shots.",
        Step(context.reader, context.input_options()),
        [_splitter(videos), *_filters(context, videos, clips), _cutter()],
        Step("video.clip_writer", [Option("path", f"{context.output}/clips")]),
        findings=list(_findings(sample, videos, clips)),
    )


def _splitter(videos: Sequence[Record]) -> Step:
    lengths = finite([video["duration"] for video in videos])
    shortest = min(float(_SHORTEST_CLIP), max(0.5, round(quantile(lengths, 0.5) / 2, 1)))
    median = f"half of your videos are longer than {quantile(lengths, 0.5):.4g} s"
    options = [
        Option("min_length_s", int(shortest) if shortest == int(shortest) else shortest, median),
        Option("max_length_s", _LONGEST_CLIP, "longer shots become several clips"),
    ]
    return Step("video.histogram_shot_splitter", options, "Single shots: by changes of colours.")


def _filters(
    context: InspectionContext, videos: Sequence[Record], clips: Sequence[Record]
) -> list[Step]:
    sizes = finite([min(video["width"], video["height"]) for video in videos])
    step = limit_step(context.plugins, _SIZE, sizes, "videos")
    smallest = Option("min_short_side", int(sizes[0]), "no video of the sample is smaller")
    steps = [step or Step("video.resolution_filter", [smallest])]
    for rule in _MEASURED:
        values = finite([clip.get(rule.measure) for clip in clips])
        step = limit_step(context.plugins, rule, values, "clips in the sample")
        steps += [step] if step else []
    return steps


def _cutter() -> Step:
    return Step("video.clip_cutter", [Option("mode", "exact", "copy is faster, at keyframes")])


def _measure_clips(context: InspectionContext, videos: Sequence[Record]) -> list[Record]:
    """Measure the clips of a few videos: decoding takes long."""
    paths: list[str] = []
    seconds = 0.0
    for video in videos:
        seconds += video["duration"]
        if seconds > _MOST_DECODED_S:
            break
        paths.append(video["path"])
    if not paths:
        return []
    splitter = {option.name: option.value for option in _splitter(videos).options}
    stages = [
        make_stage(context.plugins, context.reader, file_paths=paths),
        make_stage(context.plugins, "video.histogram_shot_splitter", **splitter),
        *(make_stage(context.plugins, rule.stage, score_only=True) for rule in _MEASURED),
    ]
    return sample_facts(stages, len(paths)).records


def _findings(
    sample: SampledRecords, videos: Sequence[Record], clips: Sequence[Record]
) -> list[tuple[str, str]]:
    lengths = typical(finite([video["duration"] for video in videos]))
    sizes = Counter(f"{video['width']} x {video['height']}" for video in videos)
    codecs = Counter(str(video["codec"]) for video in videos)
    silent = sum(video.get("sound") == "none" for video in videos) / len(videos)
    found = [
        ("sample", sample.describe("video")),
        ("lengths", f"half of the videos have {lengths} s"),
        ("sizes", ", ".join(f"{size} {percent(n / len(videos))}" for size, n in
                            sizes.most_common(4))),
        ("codecs", ", ".join(codecs) + (f"; {percent(silent)} have no sound" if silent else "")),
    ]  # fmt: skip
    return [*found, ("clips", f"{len(clips)} were decoded and measured")] if clips else found
