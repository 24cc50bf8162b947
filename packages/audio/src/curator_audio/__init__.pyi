# Generated from the package's list of public names: run `hatch run generate`.
from curator_audio.audio_batch import AudioBatch as AudioBatch
from curator_audio.conversations import ConversationBuilder as ConversationBuilder
from curator_audio.dedup.workflow import AudioDeduplicationWorkflow as AudioDeduplicationWorkflow
from curator_audio.filters.base import AudioFilter as AudioFilter
from curator_audio.filters.measures import BandwidthFilter as BandwidthFilter
from curator_audio.filters.measures import ClippingFilter as ClippingFilter
from curator_audio.filters.measures import DcOffsetFilter as DcOffsetFilter
from curator_audio.filters.measures import DurationFilter as DurationFilter
from curator_audio.filters.measures import LoudnessFilter as LoudnessFilter
from curator_audio.filters.measures import SampleRateFilter as SampleRateFilter
from curator_audio.filters.measures import SilenceFilter as SilenceFilter
from curator_audio.filters.measures import SnrFilter as SnrFilter
from curator_audio.filters.scoring import Filter as Filter
from curator_audio.filters.scoring import Score as Score
from curator_audio.filters.scoring import ScoreFilter as ScoreFilter
from curator_audio.measures.loudness import LoudnessNormalizer as LoudnessNormalizer
from curator_audio.measures.measurer import AudioMeasurer as AudioMeasurer
from curator_audio.quality.dnsmos import DnsmosFilter as DnsmosFilter
from curator_audio.quality.squim import SquimFilter as SquimFilter
from curator_audio.quality.utmos import UtmosFilter as UtmosFilter
from curator_audio.readers.corpora import FleursReader as FleursReader
from curator_audio.readers.corpora import LibriSpeechReader as LibriSpeechReader
from curator_audio.readers.folder import AudioFolderReader as AudioFolderReader
from curator_audio.readers.manifest import ManifestReader as ManifestReader
from curator_audio.readers.parquet import AudioParquetReader as AudioParquetReader
from curator_audio.readers.webdataset import ShardReader as ShardReader
from curator_audio.segments import LongSplitter as LongSplitter
from curator_audio.segments import SegmentConcatenator as SegmentConcatenator
from curator_audio.segments import SegmentExtractor as SegmentExtractor
from curator_audio.segments import SegmentJoiner as SegmentJoiner
from curator_audio.segments import TimestampMapper as TimestampMapper
from curator_audio.sound_events import SoundEventFilter as SoundEventFilter
from curator_audio.speakers.diarizer import SpeakerDiarizer as SpeakerDiarizer
from curator_audio.speakers.voices import SpeakerEmbedder as SpeakerEmbedder
from curator_audio.transcripts.documents import AudioToDocument as AudioToDocument
from curator_audio.transcripts.error_rates import CerFilter as CerFilter
from curator_audio.transcripts.error_rates import EdgeCerFilter as EdgeCerFilter
from curator_audio.transcripts.error_rates import WerFilter as WerFilter
from curator_audio.transcripts.hallucinations import HallucinationFilter as HallucinationFilter
from curator_audio.transcripts.recognizer import SpeechRecognizer as SpeechRecognizer
from curator_audio.vad.speech_finder import SpeechFinder as SpeechFinder
from curator_audio.waveform import AudioFormat as AudioFormat
from curator_audio.waveform import NATIVE as NATIVE
from curator_audio.waveform import SPEECH as SPEECH
from curator_audio.waveform import Waveform as Waveform
from curator_audio.writers.encoder import AudioEncoder as AudioEncoder
from curator_audio.writers.manifest import ManifestWriter as ManifestWriter
from curator_audio.writers.segments import SegmentWriter as SegmentWriter
from curator_audio.writers.webdataset import ShardWriter as ShardWriter

__all__ = [
    "NATIVE",
    "SPEECH",
    "AudioBatch",
    "AudioDeduplicationWorkflow",
    "AudioEncoder",
    "AudioFilter",
    "AudioFolderReader",
    "AudioFormat",
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
    "Filter",
    "FleursReader",
    "HallucinationFilter",
    "LibriSpeechReader",
    "LongSplitter",
    "LoudnessFilter",
    "LoudnessNormalizer",
    "ManifestReader",
    "ManifestWriter",
    "SampleRateFilter",
    "Score",
    "ScoreFilter",
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
