"""Recipes for pictures: sizes, shapes, blank and blurred ones."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from curator_core.errors import InputError
from curator_core.preview import Record

from curator_cli.inspection.context import InspectionContext
from curator_cli.inspection.formats import IMAGE_SHARD
from curator_cli.inspection.limits import FEWEST, TOO_FEW, Bound, LimitRule, limit_step
from curator_cli.inspection.proposal import Proposal, Step
from curator_cli.inspection.quantiles import finite, percent, typical
from curator_cli.inspection.sampling import SampledRecords, make_stage, sample_facts

_PICTURES = 100
_MOST_BYTES_READ, _MOST_BYTES_OF_FILE = 300_000_000, 20_000_000

_RULES = (
    LimitRule("image.size_filter", (
        Bound("min_side", "low", 0.05, "have a shorter side of fewer pixels", whole=True),
    ), "shorter"),
    LimitRule("image.aspect_ratio_filter", (
        Bound("max_ratio", "high", 0.02, "are longer and narrower"),
    ), "ratio"),
    LimitRule("image.uniformity_filter", (
        Bound("max_share", "high", 0.02, "have more of a single level"),
    ), "uniformity"),
    LimitRule("image.entropy_filter", (
        Bound("min_entropy", "low", 0.02, "have less information per pixel"),
    ), "entropy"),
    LimitRule("image.blur_filter", (
        Bound("min_sharpness", "low", 0.03, "are less sharp"),
    ), "sharpness"),
)  # fmt: skip


def propose_images(context: InspectionContext) -> Proposal:
    """Return a recipe that writes the good pictures to shards."""
    sample = _read(context)
    pictures = [_with_shape(record) for record in sample.records if record.get("width")]
    if not pictures:
        why = f": {sample.failures[0]}" if sample.failures else ""
        raise InputError(f"none of {context.group} could be decoded{why}")
    steps = []
    for rule in _RULES if len(pictures) >= FEWEST else ():
        values = finite([picture.get(rule.measure) for picture in pictures])
        step = limit_step(context.plugins, rule, values, "pictures")
        steps += [step] if step else []
    steps.append(Step("image.perceptual_hash", (), "A column to find near duplicates by."))
    output = f"{context.output}/kept"
    return Proposal(
        context.name,
        f"{context.group}, of which the good ones are kept.",
        Step(context.reader, context.input_options()),
        steps,
        Step("image.web_dataset_writer", context.output_options()),
        findings=_findings(sample, pictures),
        notes=[] if len(pictures) >= FEWEST else [TOO_FEW],
        next_commands=[f"curate image deduplication {output} {context.output}/unique --by phash"],
    )


def _read(context: InspectionContext) -> SampledRecords:
    is_shard = context.group.format is IMAGE_SHARD
    paths = context.chosen(_PICTURES, _MOST_BYTES_READ, _MOST_BYTES_OF_FILE)
    options: dict[str, Any] = {"blocksize": "8MB"} if is_shard else {}
    return sample_facts(
        [
            make_stage(context.plugins, context.reader, file_paths=paths, **options),
            make_stage(context.plugins, "image.measures"),
            make_stage(context.plugins, "image.perceptual_hash"),
        ],
        _PICTURES,
    )


def _with_shape(record: Record) -> Record:
    shorter, longer = sorted((record["width"], record["height"]))
    return {**record, "shorter": shorter, "ratio": longer / shorter}


def _findings(sample: SampledRecords, pictures: Sequence[Record]) -> list[tuple[str, str]]:
    formats = Counter(str(picture["format"]) for picture in pictures)
    hashes = [picture["phash"] for picture in pictures]
    same = percent(1 - len(set(hashes)) / len(hashes))
    sides = typical(finite([picture["shorter"] for picture in pictures]))
    return [
        ("sample", sample.describe("picture")),
        ("formats", ", ".join(f"{name} {percent(n / len(pictures))}" for name, n in
                              formats.most_common())),
        ("sizes", f"half of the pictures have a shorter side of {sides} pixels"),
        ("duplicates", f"{same} look like another one in the sample; more in all files"),
    ]  # fmt: skip
