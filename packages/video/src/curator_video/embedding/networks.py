"""Video networks: models that map several pictures to one vector."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from curator_models.importing import transformers
from curator_models.loading import pretrained, told
from curator_models.locating import ModelError, settings_in

from curator_video.analysis.observing import Pixels
from curator_video.models.lending import framing

_COUNTS = ("num_video_frames", "num_frames", "frames_per_clip")
_ASKED = ("get_video_embeddings", "get_vid_feat", "get_video_features", "get_vision_features")
"""Method names of Cosmos-Embed1, InternVideo2, X-CLIP and V-JEPA 2."""
_ANSWERS = ("visual_proj", "video_embeds", "pooler_output", "last_hidden_state")
_USUAL_COUNT, _USUAL_SIZE = 8, 224
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_FRAMES = ("preprocessor_config.json", "processor_config.json")


class VideoNetwork:
    """A video model, with the preparation of its pictures."""

    def __init__(self, folder: Path, with_code: bool, device: "torch.device") -> None:
        self._folder = folder
        self._device = device
        self._processor = _processor_in(folder) if with_code else None
        self._network = pretrained("AutoModel", folder, with_code=with_code).to(device).eval()
        self.count = next(_numbers(settings_in(folder), _COUNTS), _USUAL_COUNT)

    def vector(self, pictures: Sequence[Pixels], half: "torch.dtype | None") -> Any:
        """Return the vector of a clip; its length depends on the model."""
        given = self._shown(pictures)
        kind = self._device.type
        with torch.inference_mode(), torch.autocast(kind, half, enabled=half is not None):
            found = self._vector(self._asked(given))
        if found.dim() != 2 or len(found) != 1 or not torch.isfinite(found).all():
            raise ModelError(
                f"{self._folder} answers with {tuple(found.shape)} of {found.dtype}, which is no "
                "vector of a clip"
            )
        return found[0].float().cpu().numpy()

    def _shown(self, pictures: Sequence[Pixels]) -> Mapping[str, Any]:
        if self._processor is not None:
            stacked = np.stack(pictures)[None].transpose(0, 1, 4, 2, 3)
            given = self._processor(videos=np.ascontiguousarray(stacked), return_tensors="pt")
            return {name: value.to(self._device) for name, value in given.items()}
        arrays = _framing_in(self._folder).arrays(pictures)
        return {"": torch.from_numpy(arrays)[None].to(self._device)}

    def _asked(self, given: Mapping[str, Any]) -> Any:
        name = next((name for name in _ASKED if hasattr(self._network, name)), "forward")
        ask = getattr(self._network, name)
        return ask(given[""]) if "" in given else ask(**given)

    def _vector(self, found: Any) -> "torch.Tensor":
        """Extract the vector from the model's output; average it if there are several."""
        for name in _ANSWERS:
            inner = getattr(found, name, None)
            if inner is not None:
                found = inner
                break
        if not isinstance(found, torch.Tensor):
            raise ModelError(f"{self._folder} answers with a {type(found).__name__}, not a vector")
        return found.flatten(1, -2).mean(1) if found.dim() > 2 else found


def _numbers(settings: Mapping[str, Any], names: Sequence[str]) -> Iterator[int]:
    """Yield the numbers under these names in a model's settings, nested parts included."""
    yield from (found for name in names if isinstance(found := settings.get(name), int))
    for part in settings.values():
        if isinstance(part, dict):
            yield from _numbers(part, names)


def _framing_in(folder: Path) -> Any:
    if any((folder / name).is_file() for name in _FRAMES):
        return framing(folder)
    size = next(_numbers(settings_in(folder), ("image_size", "crop_size")), _USUAL_SIZE)
    usual = framing(folder)
    return replace(usual, size=size, mean=_MEAN, std=_STD, crops=False, larger=None)


def _processor_in(folder: Path) -> Any:
    """Return the model's own picture processor, if its code brings one."""
    said = [settings_in(folder, name) for name in (*_FRAMES, "config.json")]
    if not any("AutoProcessor" in (one.get("auto_map") or {}) for one in said):
        return None
    with told(folder):
        return transformers().AutoProcessor.from_pretrained(str(folder), trust_remote_code=True)
