"""Tiny video models with fixed weights, saved like published ones."""

import json
from collections.abc import Callable
from pathlib import Path

import torch
from curator_models.transformers_compat import import_transformers
from safetensors.torch import save_file
from tiny_image_models import RECIPES as IMAGE_RECIPES
from tiny_image_models import SPECIAL, WORDS, save_clip, save_tokenizer, write_frame

library = import_transformers()

SMALL = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}

OWN_CODE = """
import torch
from transformers import PretrainedConfig, PreTrainedModel
from transformers.feature_extraction_utils import BatchFeature
from transformers.processing_utils import ProcessorMixin


class TinyConfig(PretrainedConfig):
    model_type = "tiny_embed"

    def __init__(self, num_video_frames=4, **options):
        self.num_video_frames = num_video_frames
        super().__init__(**options)


class TinyProcessor(ProcessorMixin):
    attributes = []

    def __call__(self, videos, return_tensors=None):
        assert videos.shape[1:3] == (4, 3), videos.shape
        return BatchFeature({"videos": torch.from_numpy(videos).float() / 255})


class Output:
    def __init__(self, visual_proj):
        self.visual_proj = visual_proj


class TinyModel(PreTrainedModel):
    config_class = TinyConfig

    def __init__(self, config):
        super().__init__(config)
        self.head = torch.nn.Linear(4 * 3, 6)
        self.post_init()

    def get_video_embeddings(self, videos):
        return Output(self.head(videos.mean((3, 4)).flatten(1)))
"""


def save_with_code(folder: Path) -> None:
    """Save a model like Cosmos-Embed1: with its own code, processor and method."""
    folder.mkdir(parents=True)
    torch.manual_seed(21)
    head = torch.nn.Linear(12, 6)
    state = {"head.weight": head.weight.detach(), "head.bias": head.bias.detach()}
    save_file(state, folder / "model.safetensors", {"format": "pt"})
    module = "modeling_tiny_embed"
    settings = {
        "model_type": "tiny_embed",
        "architectures": ["TinyModel"],
        "num_video_frames": 4,
        "auto_map": {
            "AutoConfig": f"{module}.TinyConfig",
            "AutoModel": f"{module}.TinyModel",
            "AutoProcessor": f"{module}.TinyProcessor",
        },
    }
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / f"{module}.py").write_text(OWN_CODE)


def save_x_clip(folder: Path) -> None:
    """Save a model that compares videos with texts."""
    torch.manual_seed(22)
    config = library.XCLIPConfig(
        text_config=SMALL | {"vocab_size": 20, "max_position_embeddings": 8},
        vision_config=SMALL
        | {
            "image_size": 32,
            "patch_size": 8,
            "num_frames": 3,
            "mit_hidden_size": 16,
            "mit_intermediate_size": 32,
            "mit_num_hidden_layers": 1,
            "mit_num_attention_heads": 2,
        },
        projection_dim=16,
        prompt_layers=1,
        prompt_num_attention_heads=2,
    )
    library.XCLIPModel(config).save_pretrained(folder)
    write_frame(folder, 32)


def save_video_mae(folder: Path) -> None:
    """Save a model with a vector per patch, and without settings for mean and deviation."""
    torch.manual_seed(23)
    config = library.VideoMAEConfig(**SMALL, image_size=32, patch_size=8, num_frames=4)
    library.VideoMAEModel(config).save_pretrained(folder)


def save_words(folder: Path) -> None:
    """Save a language model."""
    torch.manual_seed(25)
    save_tokenizer(folder)
    config = library.LlamaConfig(
        **SMALL, vocab_size=len(SPECIAL) + len(WORDS), num_key_value_heads=2,
        pad_token_id=0, bos_token_id=2, eos_token_id=3, initializer_range=0.6,
    )  # fmt: skip
    library.LlamaForCausalLM(config).save_pretrained(folder)


RECIPES: dict[str, Callable[[Path], None]] = {
    **IMAGE_RECIPES,
    "own_code": save_with_code,
    "clip": save_clip,
    "video_mae": save_video_mae,
    "words": save_words,
    "x_clip": save_x_clip,
}
