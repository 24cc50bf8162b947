"""Recipes for recordings: their lengths and sample rates, segments of speech, noise."""

from collections import Counter
from collections.abc import Sequence

from curator_core.errors import InputError
from curator_core.preview import Record

from curator_cli.inspection.context import InspectionContext
from curator_cli.inspection.formats import AUDIO
from curator_cli.inspection.limits import Bound, LimitRule, limit_step
from curator_cli.inspection.proposal import Option, Proposal, Step
from curator_cli.inspection.quantiles import finite, percent, typical
from curator_cli.inspection.sampling import (
    SampledRecords,
    make_stage,
    problems_of,
    sample_facts,
)

_RECORDINGS, _MOST_DECODED = 200, 12
_MOST_DECODED_S = 600
"""Seconds of sound that are decoded to measure it."""

_MOST_BYTES_READ, _MOST_BYTES_OF_FILE = 200_000_000, 1_000_000
_FEWEST = 5
_FEW_SPEAK = 0.5
"""If fewer recordings have speech, the recipe does not look for it."""

_LENGTH = LimitRule("audio.duration_filter", (
    Bound("at_least", "low", 0.02, "are shorter"),
    Bound("at_most", "high", 0.01, "are longer"),
), "duration")  # fmt: skip
_RATE = LimitRule("audio.sample_rate_filter", (
    Bound("at_least", "low", 0.05, "have a lower sample rate", whole=True),
), "sample_rate")  # fmt: skip
_QUALITY = (
    LimitRule("audio.clipping_filter", (
        Bound("at_most", "high", 0.05, "have more clipped samples"),
    ), "clipping"),
    LimitRule("audio.silence_filter", (
        Bound("at_most", "high", 0.05, "are silent for longer"),
    ), "silence"),
    LimitRule("audio.snr_filter", (
        Bound("at_least", "low", 0.05, "have more noise"),
    ), "snr_db"),
)  # fmt: skip
_MEASURES = ["clipping", "silence", "snr_db"]


def propose_audio(context: InspectionContext) -> Proposal:
    """Return a recipe that writes segments of speech, or whole recordings if nobody speaks."""
    paths = context.chosen(_RECORDINGS, _MOST_BYTES_READ, _MOST_BYTES_OF_FILE)
    reader = make_stage(context.plugins, context.reader, file_paths=paths)
    sample = sample_facts([reader], _RECORDINGS)
    recordings = [one for one in sample.records if one.get("sample_rate")]
    if not recordings:
        failures = [*sample.failures, *(str(one.get("problem")) for one in sample.records)]
        raise InputError(f"none of {context.group} could be read: {failures[0]}")
    few = _few(recordings)
    measured = _measured(context, few)
    speech, note = _speech_steps(context, few)
    return Proposal(
        context.name,
        f"{context.group}, of which the good ones are kept.",
        Step(context.reader, context.input_options()),
        [*_header_steps(context, recordings), *speech, *_quality_steps(context, measured)],
        Step("audio.segment_writer", [Option("format", "flac"), *context.output_options()]),
        findings=[
            ("sample", sample.describe("recording")),
            *_columns(context, sample),
            *_findings(recordings, measured),
        ],
        notes=[note] if note else [],
    )


def _columns(context: InspectionContext, sample: SampledRecords) -> list[tuple[str, str]]:
    """Return the user's own columns, without what the headers of recordings say."""
    if context.group.format is AUDIO:
        return []
    found = dict.fromkeys(name for one in sample.records for name in one)
    own = [name for name in found if name not in ("sample_rate", "channels", "codec", "problem")]
    return [("columns", f"{', '.join(own)}; all of them are kept")]


def _few(recordings: Sequence[Record]) -> list[Record]:
    """Return some recordings that can be decoded in little time."""
    chosen: list[Record] = []
    seconds = 0.0
    for one in recordings:
        seconds += float(one.get("duration") or _MOST_DECODED_S / _MOST_DECODED)
        if chosen and (seconds > _MOST_DECODED_S or len(chosen) == _MOST_DECODED):
            break
        chosen.append(one)
    return chosen


def _reader_of(context: InspectionContext, few: Sequence[Record]) -> tuple[str, list[str]]:
    """Return a reader and paths for some recordings: from manifests, their files."""
    paths = list(dict.fromkeys(str(one["audio_filepath"]) for one in few))
    if context.group.format is AUDIO or all("/" in path and ".tar/" not in path for path in paths):
        return AUDIO.reader, paths
    return context.reader, context.chosen(1, 1, 1)


def _measured(context: InspectionContext, few: Sequence[Record]) -> list[Record]:
    reader, paths = _reader_of(context, few)
    stages = [
        make_stage(context.plugins, reader, file_paths=paths),
        make_stage(context.plugins, "audio.audio_measurer", measures=_MEASURES),
    ]
    return sample_facts(stages, len(few)).records


def _header_steps(context: InspectionContext, recordings: Sequence[Record]) -> list[Step]:
    """Return limits for what the headers say, which costs no decoding."""
    if len(recordings) < _FEWEST:
        return []
    steps = []
    for rule in (_LENGTH, _RATE):
        values = finite([one.get(rule.measure) for one in recordings])
        step = limit_step(context.plugins, rule, values, "recordings")
        steps += [step] if step else []
    return steps


def _quality_steps(context: InspectionContext, measured: Sequence[Record]) -> list[Step]:
    if len(measured) < _FEWEST:
        return []
    steps = []
    for rule in _QUALITY:
        values = finite([one.get(rule.measure) for one in measured])
        step = limit_step(context.plugins, rule, values, "recordings in the sample")
        steps += [step] if step else []
    return steps


def _speech_steps(context: InspectionContext, few: Sequence[Record]) -> tuple[list[Step], str]:
    """Return the steps that find segments of speech, or a note on why there are none."""
    if any(one.get("offset") is not None for one in few):
        return [], ""  # they are segments already
    finder = make_stage(context.plugins, "audio.speech_finder", keep_silent=True)
    if problems := problems_of(finder):
        return [], f"segments of speech are not found: {problems[0]}"
    reader, paths = _reader_of(context, few)
    stages = [make_stage(context.plugins, reader, file_paths=paths), finder]
    found = sample_facts(stages, len(few)).records
    share = sum(bool(one.get("speech")) for one in found) / max(1, len(found))
    if share < _FEW_SPEAK:
        return [], f"{percent(share)} of the sample has speech, so the recipe does not look for it"
    about = f"Segments of speech; {percent(share)} of the sample has some."
    return [
        Step("audio.speech_finder", [Option("max_speech", 30.0), Option("min_silence", 0.3)],
             about),
        Step("audio.segment_extractor"),
        Step("audio.segment_joiner", [
            Option("max_gap", 0.5, "seconds between segments that are joined"),
            Option("max_duration", 30.0),
        ]),
    ], ""  # fmt: skip


def _findings(recordings: Sequence[Record], measured: Sequence[Record]) -> list[tuple[str, str]]:
    lengths = finite([one.get("duration") for one in recordings])
    rates = Counter(f"{one['sample_rate']} Hz" for one in recordings)
    codecs = Counter(str(one.get("codec")) for one in recordings)
    noise = finite([one.get("snr_db") for one in measured])
    found = [
        ("sample rates", ", ".join(f"{rate} {percent(n / len(recordings))}" for rate, n in
                                   rates.most_common(4))),
        ("codecs", ", ".join(codecs)),
    ]  # fmt: skip
    if lengths:
        found.insert(0, ("lengths", f"half of the recordings have {typical(lengths)} s"))
    if noise:
        found.append(("noise", f"signal-to-noise ratio of {typical(noise)} dB"))
    return found
