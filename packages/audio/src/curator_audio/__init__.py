"""Audio stages: readers, measures, speech segmentation, transcripts, and writers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from curator_audio.batches import AudioBatch
    from curator_audio.conversations.building import ConversationBuilder
    from curator_audio.duplicates.workflows import AudioDeduplicationWorkflow
    from curator_audio.events.detecting import SoundEventFilter
    from curator_audio.forms import NATIVE, SPEECH, Form
    from curator_audio.measuring.levelling import LoudnessNormalizer
    from curator_audio.measuring.stages import (
        AudioMeasurer,
        BandwidthFilter,
        ClippingFilter,
        DcOffsetFilter,
        DurationFilter,
        LoudnessFilter,
        SampleRateFilter,
        SilenceFilter,
        SnrFilter,
    )
    from curator_audio.quality.dnsmos import DnsmosFilter
    from curator_audio.quality.squim import SquimFilter
    from curator_audio.quality.utmos import UtmosFilter
    from curator_audio.reading.corpora import FleursReader, LibriSpeechReader
    from curator_audio.reading.folders import AudioFolderReader
    from curator_audio.reading.manifests import ManifestReader
    from curator_audio.reading.parquet import AudioParquetReader
    from curator_audio.reading.shards import ShardReader
    from curator_audio.speakers.diarizing import SpeakerDiarizer
    from curator_audio.speakers.embedding import SpeakerEmbedder
    from curator_audio.speech.concatenating import SegmentConcatenator
    from curator_audio.speech.extracting import SegmentExtractor
    from curator_audio.speech.finding import SpeechFinder
    from curator_audio.speech.joining import LongSplitter, SegmentJoiner, TimestampMapper
    from curator_audio.transcripts.documents import AudioToDocument
    from curator_audio.transcripts.filters import (
        CerFilter,
        EdgeCerFilter,
        HallucinationFilter,
        WerFilter,
    )
    from curator_audio.transcripts.recognizing import SpeechRecognizer
    from curator_audio.waveforms import Waveform
    from curator_audio.writing.encoders import AudioEncoder
    from curator_audio.writing.manifests import ManifestWriter
    from curator_audio.writing.segments import SegmentWriter
    from curator_audio.writing.shards import ShardWriter

__all__ = [
    "NATIVE",
    "SPEECH",
    "AudioBatch",
    "AudioDeduplicationWorkflow",
    "AudioEncoder",
    "AudioFolderReader",
    "AudioMeasurer",
    "AudioParquetReader",
    "AudioToDocument",
    "BandwidthFilter",
    "CerFilter",
    "ClippingFilter",
    "ConversationBuilder",
    "DcOffsetFilter",
    "DnsmosFilter",
    "DurationFilter",
    "EdgeCerFilter",
    "FleursReader",
    "Form",
    "HallucinationFilter",
    "LibriSpeechReader",
    "LongSplitter",
    "LoudnessFilter",
    "LoudnessNormalizer",
    "ManifestReader",
    "ManifestWriter",
    "SampleRateFilter",
    "SegmentConcatenator",
    "SegmentExtractor",
    "SegmentJoiner",
    "SegmentWriter",
    "ShardReader",
    "ShardWriter",
    "SilenceFilter",
    "SnrFilter",
    "SoundEventFilter",
    "SpeakerDiarizer",
    "SpeakerEmbedder",
    "SpeechFinder",
    "SpeechRecognizer",
    "SquimFilter",
    "TimestampMapper",
    "UtmosFilter",
    "Waveform",
    "WerFilter",
]

_HOMES = {
    "batches": ("AudioBatch",),
    "conversations.building": ("ConversationBuilder",),
    "duplicates.workflows": ("AudioDeduplicationWorkflow",),
    "events.detecting": ("SoundEventFilter",),
    "forms": ("NATIVE", "SPEECH", "Form"),
    "measuring.levelling": ("LoudnessNormalizer",),
    "measuring.stages": (
        "AudioMeasurer",
        "BandwidthFilter",
        "ClippingFilter",
        "DcOffsetFilter",
        "DurationFilter",
        "LoudnessFilter",
        "SampleRateFilter",
        "SilenceFilter",
        "SnrFilter",
    ),
    "quality.dnsmos": ("DnsmosFilter",),
    "quality.squim": ("SquimFilter",),
    "quality.utmos": ("UtmosFilter",),
    "reading.folders": ("AudioFolderReader",),
    "reading.corpora": ("FleursReader", "LibriSpeechReader"),
    "reading.manifests": ("ManifestReader",),
    "reading.parquet": ("AudioParquetReader",),
    "reading.shards": ("ShardReader",),
    "speech.concatenating": ("SegmentConcatenator",),
    "speakers.diarizing": ("SpeakerDiarizer",),
    "speakers.embedding": ("SpeakerEmbedder",),
    "speech.extracting": ("SegmentExtractor",),
    "speech.finding": ("SpeechFinder",),
    "speech.joining": ("LongSplitter", "SegmentJoiner", "TimestampMapper"),
    "writing.encoders": ("AudioEncoder",),
    "writing.segments": ("SegmentWriter",),
    "writing.shards": ("ShardWriter",),
    "transcripts.documents": ("AudioToDocument",),
    "transcripts.filters": (
        "CerFilter",
        "EdgeCerFilter",
        "HallucinationFilter",
        "WerFilter",
    ),
    "transcripts.recognizing": ("SpeechRecognizer",),
    "waveforms": ("Waveform",),
    "writing.manifests": ("ManifestWriter",),
}


def __getattr__(name: str) -> Any:
    """Import stages on first use, so that importing this package stays cheap."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"curator_audio.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
