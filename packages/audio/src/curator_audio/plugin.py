"""Plugin of Curator: registers stages, workflows, reports and commands, imported lazily."""

from curator_core import hookimpl

_TRANSCRIPTS = "curator_audio.transcripts"

EXPORTS = {
    "curator_audio.audio_batch": ("AudioBatch",),
    "curator_audio.filters.base": ("AudioFilter",),
    "curator_audio.filters.scoring": ("Filter", "Score", "ScoreFilter"),
    "curator_audio.waveform": ("AudioFormat", "NATIVE", "SPEECH", "Waveform"),
}
"""Public names besides what the hooks register, by module."""


@hookimpl
def curator_workflows() -> dict[str, str]:
    return {"audio.deduplication": "curator_audio.dedup.workflow:AudioDeduplicationWorkflow"}


@hookimpl
def curator_stages() -> dict[str, str]:
    return {
        "audio.audio_folder_reader": "curator_audio.readers.folder:AudioFolderReader",
        "audio.audio_parquet_reader": "curator_audio.readers.parquet:AudioParquetReader",
        "audio.audio_measurer": "curator_audio.measures.measurer:AudioMeasurer",
        "audio.bandwidth_filter": "curator_audio.filters.measures:BandwidthFilter",
        "audio.clipping_filter": "curator_audio.filters.measures:ClippingFilter",
        "audio.dc_offset_filter": "curator_audio.filters.measures:DcOffsetFilter",
        "audio.conversation_builder": "curator_audio.conversations:ConversationBuilder",
        "audio.speaker_diarizer": "curator_audio.speakers.diarizer:SpeakerDiarizer",
        "audio.speaker_embedder": "curator_audio.speakers.voices:SpeakerEmbedder",
        "audio.dnsmos_filter": "curator_audio.quality.dnsmos:DnsmosFilter",
        "audio.duration_filter": "curator_audio.filters.measures:DurationFilter",
        "audio.loudness_filter": "curator_audio.filters.measures:LoudnessFilter",
        "audio.loudness_normalizer": "curator_audio.measures.loudness:LoudnessNormalizer",
        "audio.sample_rate_filter": "curator_audio.filters.measures:SampleRateFilter",
        "audio.silence_filter": "curator_audio.filters.measures:SilenceFilter",
        "audio.snr_filter": "curator_audio.filters.measures:SnrFilter",
        "audio.fleurs_reader": "curator_audio.readers.corpora:FleursReader",
        "audio.libri_speech_reader": "curator_audio.readers.corpora:LibriSpeechReader",
        "audio.manifest_reader": "curator_audio.readers.manifest:ManifestReader",
        "audio.shard_reader": "curator_audio.readers.webdataset:ShardReader",
        "audio.long_splitter": "curator_audio.segments:LongSplitter",
        "audio.segment_concatenator": "curator_audio.segments:SegmentConcatenator",
        "audio.segment_extractor": "curator_audio.segments:SegmentExtractor",
        "audio.segment_joiner": "curator_audio.segments:SegmentJoiner",
        "audio.sound_event_filter": "curator_audio.sound_events:SoundEventFilter",
        "audio.squim_filter": "curator_audio.quality.squim:SquimFilter",
        "audio.utmos_filter": "curator_audio.quality.utmos:UtmosFilter",
        "audio.speech_finder": "curator_audio.vad.speech_finder:SpeechFinder",
        "audio.timestamp_mapper": "curator_audio.segments:TimestampMapper",
        "audio.audio_encoder": "curator_audio.writers.encoder:AudioEncoder",
        "audio.segment_writer": "curator_audio.writers.segments:SegmentWriter",
        "audio.shard_writer": "curator_audio.writers.webdataset:ShardWriter",
        "audio.cer_filter": f"{_TRANSCRIPTS}.error_rates:CerFilter",
        "audio.edge_cer_filter": f"{_TRANSCRIPTS}.error_rates:EdgeCerFilter",
        "audio.hallucination_filter": f"{_TRANSCRIPTS}.hallucinations:HallucinationFilter",
        "audio.speech_recognizer": f"{_TRANSCRIPTS}.recognizer:SpeechRecognizer",
        "audio.wer_filter": f"{_TRANSCRIPTS}.error_rates:WerFilter",
        "audio.audio_to_document": f"{_TRANSCRIPTS}.documents:AudioToDocument",
        "audio.manifest_writer": "curator_audio.writers.manifest:ManifestWriter",
    }


@hookimpl
def curator_report_sections() -> dict[str, str]:
    return {"audio.recordings": "curator_audio.report.sections:recordings"}


@hookimpl
def curator_commands() -> dict[str, str]:
    return {"audio.report": "curator_audio.commands:report"}
