"""Plugin of Curator: registers stages, workflows, reports and commands, imported lazily."""

from curator_core import hookimpl

_MEASURES = "curator_audio.measuring.stages"
_READING = "curator_audio.reading"
_SPEECH = "curator_audio.speech"


@hookimpl
def curator_workflows() -> dict[str, str]:
    workflows = "curator_audio.duplicates.workflows"
    return {"audio.deduplication": f"{workflows}:AudioDeduplicationWorkflow"}


@hookimpl
def curator_stages() -> dict[str, str]:
    return {
        "audio.audio_folder_reader": f"{_READING}.folders:AudioFolderReader",
        "audio.audio_parquet_reader": f"{_READING}.parquet:AudioParquetReader",
        "audio.audio_measurer": f"{_MEASURES}:AudioMeasurer",
        "audio.bandwidth_filter": f"{_MEASURES}:BandwidthFilter",
        "audio.clipping_filter": f"{_MEASURES}:ClippingFilter",
        "audio.dc_offset_filter": f"{_MEASURES}:DcOffsetFilter",
        "audio.conversation_builder": "curator_audio.conversations.building:ConversationBuilder",
        "audio.speaker_diarizer": "curator_audio.speakers.diarizing:SpeakerDiarizer",
        "audio.speaker_embedder": "curator_audio.speakers.embedding:SpeakerEmbedder",
        "audio.dnsmos_filter": "curator_audio.quality.dnsmos:DnsmosFilter",
        "audio.duration_filter": f"{_MEASURES}:DurationFilter",
        "audio.loudness_filter": f"{_MEASURES}:LoudnessFilter",
        "audio.loudness_normalizer": "curator_audio.measuring.levelling:LoudnessNormalizer",
        "audio.sample_rate_filter": f"{_MEASURES}:SampleRateFilter",
        "audio.silence_filter": f"{_MEASURES}:SilenceFilter",
        "audio.snr_filter": f"{_MEASURES}:SnrFilter",
        "audio.fleurs_reader": f"{_READING}.corpora:FleursReader",
        "audio.libri_speech_reader": f"{_READING}.corpora:LibriSpeechReader",
        "audio.manifest_reader": f"{_READING}.manifests:ManifestReader",
        "audio.shard_reader": f"{_READING}.shards:ShardReader",
        "audio.long_splitter": f"{_SPEECH}.joining:LongSplitter",
        "audio.segment_concatenator": f"{_SPEECH}.concatenating:SegmentConcatenator",
        "audio.segment_extractor": f"{_SPEECH}.extracting:SegmentExtractor",
        "audio.segment_joiner": f"{_SPEECH}.joining:SegmentJoiner",
        "audio.sound_event_filter": "curator_audio.events.detecting:SoundEventFilter",
        "audio.squim_filter": "curator_audio.quality.squim:SquimFilter",
        "audio.utmos_filter": "curator_audio.quality.utmos:UtmosFilter",
        "audio.speech_finder": f"{_SPEECH}.finding:SpeechFinder",
        "audio.timestamp_mapper": f"{_SPEECH}.joining:TimestampMapper",
        "audio.audio_encoder": "curator_audio.writing.encoders:AudioEncoder",
        "audio.segment_writer": "curator_audio.writing.segments:SegmentWriter",
        "audio.shard_writer": "curator_audio.writing.shards:ShardWriter",
        "audio.cer_filter": "curator_audio.transcripts.filters:CerFilter",
        "audio.edge_cer_filter": "curator_audio.transcripts.filters:EdgeCerFilter",
        "audio.hallucination_filter": "curator_audio.transcripts.filters:HallucinationFilter",
        "audio.speech_recognizer": "curator_audio.transcripts.recognizing:SpeechRecognizer",
        "audio.wer_filter": "curator_audio.transcripts.filters:WerFilter",
        "audio.audio_to_document": "curator_audio.transcripts.documents:AudioToDocument",
        "audio.manifest_writer": "curator_audio.writing.manifests:ManifestWriter",
    }


@hookimpl
def curator_reports() -> dict[str, str]:
    return {"audio.recordings": "curator_audio.reporting.exhibits:recordings"}


@hookimpl
def curator_commands() -> dict[str, str]:
    return {"audio.report": "curator_audio.reporting.commands:report"}
