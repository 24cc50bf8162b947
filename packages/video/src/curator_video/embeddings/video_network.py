"""Video networks: models that map several frames to one vector."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from curator_models.hub import ModelError, read_config
from curator_models.loading import load_pretrained
from curator_models.transformers_compat import import_transformers, loading_errors

from curator_video.analysis.measurements import Pixels
from curator_video.frame_models import frame_preprocessing

_COUNTS = ("num_video_frames", "num_frames", "frames_per_clip")
_METHODS = ("get_video_embeddings", "get_vid_feat", "get_video_features", "get_vision_features")
"""Method names of Cosmos-Embed1, InternVideo2, X-CLIP and V-JEPA 2."""

_OUTPUTS = ("visual_proj", "video_embeds", "pooler_output", "last_hidden_state")
_USUAL_COUNT, _USUAL_SIZE = 8, 224
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_PREPROCESSING_FILES = ("preprocessor_config.json", "processor_config.json")


class VideoNetwork:
    """A video model, with the preparation of its frames."""

    def __init__(self, folder: Path, with_code: bool, device: "torch.device") -> None:
        self._folder = folder
        self._device = device
        self._processor = _load_processor(folder) if with_code else None
        self._network = load_pretrained("AutoModel", folder, with_code=with_code).to(device).eval()
        self.count = next(_find_numbers(read_config(folder), _COUNTS), _USUAL_COUNT)

    def vector(self, frames: Sequence[Pixels], dtype: "torch.dtype | None") -> Any:
        """Return the vector of a clip; its length depends on the model."""
        inputs = self._prepare(frames)
        kind = self._device.type
        with torch.inference_mode(), torch.autocast(kind, dtype, enabled=dtype is not None):
            found = self._extract_vector(self._run(inputs))
        if found.dim() != 2 or len(found) != 1 or not torch.isfinite(found).all():
            raise ModelError(
                f"{self._folder} returns {tuple(found.shape)} of {found.dtype}, which is not a "
                "vector of a clip"
            )
        return found[0].float().cpu().numpy()

    def _prepare(self, frames: Sequence[Pixels]) -> Mapping[str, Any]:
        if self._processor is not None:
            stacked = np.stack(frames)[None].transpose(0, 1, 4, 2, 3)
            inputs = self._processor(videos=np.ascontiguousarray(stacked), return_tensors="pt")
            return {name: value.to(self._device) for name, value in inputs.items()}
        arrays = _preprocessing_of(self._folder).normalize(frames)
        return {"": torch.from_numpy(arrays)[None].to(self._device)}

    def _run(self, given: Mapping[str, Any]) -> Any:
        name = next((name for name in _METHODS if hasattr(self._network, name)), "forward")
        call = getattr(self._network, name)
        return call(given[""]) if "" in given else call(**given)

    def _extract_vector(self, found: Any) -> "torch.Tensor":
        """Extract the vector from the model's output; average it if there are several."""
        for name in _OUTPUTS:
            inner = getattr(found, name, None)
            if inner is not None:
                found = inner
                break
        if not isinstance(found, torch.Tensor):
            raise ModelError(f"{self._folder} returns a {type(found).__name__}, not a vector")
        return found.flatten(1, -2).mean(1) if found.dim() > 2 else found


def _find_numbers(settings: Mapping[str, Any], names: Sequence[str]) -> Iterator[int]:
    """Yield the numbers under these names in a model's settings, nested parts included."""
    yield from (found for name in names if isinstance(found := settings.get(name), int))
    for part in settings.values():
        if isinstance(part, dict):
            yield from _find_numbers(part, names)


def _preprocessing_of(folder: Path) -> Any:
    if any((folder / name).is_file() for name in _PREPROCESSING_FILES):
        return frame_preprocessing(folder)
    size = next(_find_numbers(read_config(folder), ("image_size", "crop_size")), _USUAL_SIZE)
    usual = frame_preprocessing(folder)
    return replace(usual, size=size, mean=_MEAN, std=_STD, center_crop=False, resize_side=None)


def _load_processor(folder: Path) -> Any:
    """Return the model's own frame processor, if its code brings one."""
    settings = [read_config(folder, name) for name in (*_PREPROCESSING_FILES, "config.json")]
    if not any("AutoProcessor" in (one.get("auto_map") or {}) for one in settings):
        return None
    with loading_errors(folder):
        return import_transformers().AutoProcessor.from_pretrained(
            str(folder), trust_remote_code=True
        )
