"""Groups of stages and workflows, such as readers and filters, by patterns of their names."""

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Group:
    """A group, and the patterns of the names in it, without the plugin's name."""

    name: str
    about: str
    patterns: tuple[str, ...] = ()


GROUPS = (
    Group(
        "readers",
        "Read, list and download data",
        ("*_reader", "*downloader", "file_partitioning"),
    ),
    Group("filters", "Drop records by a rule or a score", ("*_filter", "*_threshold")),
    Group(
        "mixing",
        "Split, route, shuffle and mix datasets",
        ("hash_splitter", "route_by_column", "score_buckets", "*_bucketing", "shuffle", "blend"),
    ),
    Group(
        "splitters",
        "Split records into parts, and join parts",
        ("*_splitter", "*_joiner", "*_cutter", "*_concatenator", "segment_extractor",
         "conversation_builder"),
    ),
    Group(
        "cleaners",
        "Clean, convert and rewrite records",
        ("*_modifier", "*_cleaner", "*_remover", "*_decoder", "*_extractor", "*_normalizer",
         "*_reformatter", "*_redactor", "slicer", "resizer", "*encoder", "*_blurrer",
         "*_previewer", "*_mapper", "audio_to_document"),
    ),
    Group(
        "models",
        "Classify, caption, transcribe and embed with models",
        ("*_classifier", "*_embedder", "*captioner", "*caption_enhancer", "*_recognizer",
         "*_diarizer", "*_detector", "speech_finder", "prompt_task_complexity",
         "instruction_data_guard"),
    ),
    Group(
        "measures",
        "Add measurements as columns",
        ("*_identifier", "*_finder", "*_statistics", "*measures", "*_measurer", "*_hash"),
    ),
    Group(
        "deduplication",
        "Remove duplicates and benchmark texts",
        ("*deduplicat*", "decontaminator", "exact", "fuzzy", "lines", "semantic", "sentences",
         "substring"),
    ),
    Group("writers", "Write the results", ("*_writer",)),
    Group("other", "Other stages and workflows", ("*",)),
)  # fmt: skip
"""In the order of display. A name belongs to the first group with a pattern that fits."""


def group_of(name: str) -> Group:
    """Return the group of a stage or workflow."""
    short = name.partition(".")[2] or name
    return next(
        group for group in GROUPS if any(fnmatchcase(short, pattern) for pattern in group.patterns)
    )
