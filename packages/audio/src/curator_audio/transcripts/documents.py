"""Documents: hand transcripts over to text stages."""

from collections.abc import Sequence
from dataclasses import dataclass

from curator_core import DocumentBatch, ProcessingStage

from curator_audio.audio_batch import AUDIO, TEXT, AudioBatch


@dataclass
class AudioToDocument(ProcessingStage[AudioBatch, DocumentBatch]):
    """Turn rows into documents, and drop the encoded recordings to free memory."""

    text_field: str = TEXT
    """Column that becomes the text of the documents, renamed to `text`."""

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def outputs(self) -> Sequence[str]:
        return (TEXT,)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        return None if before is None else (before - {AUDIO, self.text_field}) | {TEXT}

    def process(self, task: AudioBatch) -> DocumentBatch:
        table = task.data
        if AUDIO in table.column_names:
            table = table.drop_columns([AUDIO])
        if self.text_field != TEXT:
            if TEXT in table.column_names:
                table = table.drop_columns([TEXT])
            names = [TEXT if name == self.text_field else name for name in table.column_names]
            table = table.rename_columns(names)
        return DocumentBatch(table, task.dataset_name, dict(task.metadata))
