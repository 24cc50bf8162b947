"""Caption rewriting: a language model improves existing captions."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from curator_core.model.provenance import tell_model
from curator_core.model.stages import ProcessingStage
from curator_core.model.tasks import Rejected

from curator_video.captioning.describing import Told, failed, misnamed
from curator_video.clips import Clip

CAPTION = "{caption}"
PROMPT = (
    "Here is a description of a part of a video. Write it anew as one fluent and exact paragraph, "
    "without repetitions, and add nothing to what it says.\n\n" + CAPTION
)


@dataclass(kw_only=True)
class Rewriting(ProcessingStage[Clip, Clip], ABC):
    """Rewrite the caption of each window and keep both versions."""

    prompt: str = PROMPT
    """The prompt for the model; {caption} is replaced by the original caption."""

    caption_field: str = "caption"
    """Name of the caption to read."""

    enhanced_field: str = "enhanced_caption"
    """Name of the caption to write."""

    max_new_tokens: int = 512
    """Maximum length of a caption, in tokens."""

    model_field: str | None = "enhanced_caption_model"
    """Score field for the name of the model; null writes none."""

    batch_size = 8

    def check(self) -> Iterator[str]:
        yield from misnamed("enhanced_field", self.enhanced_field)
        if CAPTION not in self.prompt:
            yield f"prompt does not say where the caption goes; put {CAPTION} into it"
        if self.max_new_tokens < 1:
            yield f"max_new_tokens is {self.max_new_tokens}, but must be 1 or more"

    @abstractmethod
    def written_for(self, prompts: Sequence[str]) -> Sequence[Told]:
        """Return a caption or an error for each prompt."""

    @property
    @abstractmethod
    def known_as(self) -> str:
        """Name of the model."""

    def process_batch(self, tasks: Sequence[Clip]) -> list[Clip | Rejected | Iterator[Clip]]:
        prompts = [
            self.prompt.replace(CAPTION, window.captions[self.caption_field])
            for clip in tasks
            if self._has_captions(clip)
            for window in clip.data.windows
        ]
        written = iter(self.written_for(prompts))
        return [
            self._rewritten(clip, list(islice(written, len(clip.data.windows))))
            if self._has_captions(clip)
            else self._refused(clip)
            for clip in tasks
        ]

    def _has_captions(self, clip: Clip) -> bool:
        windows = clip.data.windows
        return bool(windows) and all(self.caption_field in one.captions for one in windows)

    def _refused(self, clip: Clip) -> Rejected:
        named = {name for window in clip.data.windows for name in window.captions}
        has = f"has {', '.join(sorted(named))}" if named else "has no captions"
        return Rejected(
            f"no caption called {self.caption_field!r}: the clip {has}; put a captioner before",
            where=clip.place,
        )

    def _rewritten(self, clip: Clip, told: Sequence[Told]) -> Clip | Iterator[Clip]:
        done = []
        for window, said in zip(clip.data.windows, told, strict=True):
            if not isinstance(said, str):
                return failed(clip, said)
            done.append(window.with_caption(self.enhanced_field, said))
        labels = {self.model_field: self.known_as} if self.model_field else {}
        rewritten = clip.with_windows(done).with_scores(**labels)
        tell_model(rewritten, self.known_as)
        return rewritten
