"""Tiny models with fixed weights, saved as published ones are."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from curator_models.transformers_compat import import_transformers
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors

library = import_transformers()

WORDS = ["a", "red", "blue", "circle", "square", "photo", "of", "the", "drawing", "dog"]
SPECIAL = ["[PAD]", "[UNK]", "[BOS]", "[EOS]"]
WIDTH = 12


def save_tokenizer(folder: Path, **options: Any) -> None:
    known = {word: number for number, word in enumerate([*SPECIAL, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(known, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[BOS] $A [EOS]", special_tokens=[("[BOS]", 2), ("[EOS]", 3)]
    )
    library.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        bos_token="[BOS]",
        eos_token="[EOS]",
        **options,
    ).save_pretrained(folder)


def save_clip(folder: Path) -> None:
    torch.manual_seed(3)
    small = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    config = library.CLIPConfig(
        text_config=small
        | {
            "vocab_size": len(SPECIAL) + len(WORDS),
            "max_position_embeddings": 8,
            "bos_token_id": 2,
            "eos_token_id": 3,
            "pad_token_id": 0,
        },
        vision_config=small | {"image_size": 32, "patch_size": 8},
        projection_dim=WIDTH,
    )
    library.CLIPModel(config).save_pretrained(folder)
    save_tokenizer(folder)
    write_frame(folder, 32)


def write_frame(folder: Path, size: int) -> None:
    settings = {
        "crop_size": {"height": size, "width": size},
        "do_center_crop": True,
        "image_mean": [0.48145466, 0.4578275, 0.40821073],
        "image_std": [0.26862954, 0.26130258, 0.27577711],
        "image_processor_type": "CLIPImageProcessor",
        "resample": 3,
        "size": {"shortest_edge": size},
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))


def save_head(folder: Path) -> None:
    """Save a head like LAION's aesthetic predictor: linear layers only."""
    torch.manual_seed(5)
    folder.mkdir(parents=True)
    state = {}
    for index, (deep, wide) in {0: (WIDTH, 8), 2: (8, 4), 10: (4, 1)}.items():
        layer = torch.nn.Linear(deep, wide)
        state |= {f"layers.{index}.weight": layer.weight, f"layers.{index}.bias": layer.bias}
    saved = {name: value.detach().contiguous() for name, value in state.items()}
    save_file(saved, folder / "model.safetensors")
    torch.save(saved, folder / "head.pth")


def save_detector(folder: Path) -> None:
    """Save a head like LAION's NSFW detector, which also normalizes vectors."""
    torch.manual_seed(9)
    folder.mkdir(parents=True)
    state = {"norm.mean": torch.randn(WIDTH) / 9, "norm.variance": torch.rand(WIDTH) + 0.1}
    for index, (deep, wide) in {1: (WIDTH, 6), 2: (6, 1)}.items():
        layer = torch.nn.Linear(deep, wide)
        state |= {f"linear_{index}.weight": layer.weight, f"linear_{index}.bias": layer.bias}
    saved = {name: value.detach().contiguous() for name, value in state.items()}
    save_file(saved, folder / "model.safetensors")


CHAT = (
    "{% for message in messages %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %} {{ part['text'] }}{% endif %}"
    "{% endfor %}{% endfor %}"
)


def save_llava(folder: Path) -> None:
    """Save a chat model that repeats the prompt before its answer."""
    torch.manual_seed(15)
    vision = library.CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=32,
        patch_size=8,
    )
    words = library.LlamaConfig(
        vocab_size=len(SPECIAL) + len(WORDS) + 1,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=128,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        initializer_range=0.6,
    )
    index = len(SPECIAL) + len(WORDS)
    config = library.LlavaConfig(
        vision_config=vision,
        text_config=words,
        image_token_index=index,
        vision_feature_layer=-1,
    )
    library.LlavaForConditionalGeneration(config).save_pretrained(folder)
    save_tokenizer(folder, additional_special_tokens=["<image>"])
    library.LlavaProcessor(
        library.CLIPImageProcessor(
            size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
        ),
        library.AutoTokenizer.from_pretrained(folder),
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=CHAT,
    ).save_pretrained(folder)


def save_git(folder: Path) -> None:
    """Save a model that only captions: it has no chat, and does not repeat the prompt."""
    torch.manual_seed(16)
    small = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    config = library.GitConfig(
        vision_config=small | {"image_size": 32, "patch_size": 8},
        vocab_size=len(SPECIAL) + len(WORDS),
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        initializer_range=0.6,
        **small,
    )
    library.GitForCausalLM(config).save_pretrained(folder)
    save_tokenizer(folder)
    library.GitProcessor(
        library.CLIPImageProcessor(
            size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
        ),
        library.AutoTokenizer.from_pretrained(folder),
    ).save_pretrained(folder)


RECIPES: dict[str, Callable[[Path], None]] = {
    "clip": save_clip,
    "head": save_head,
    "detector": save_detector,
    "git": save_git,
    "llava": save_llava,
}
