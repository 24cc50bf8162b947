"""Tiny models with fixed weights, in the format of published ones."""

import json
from pathlib import Path
from typing import Any

import torch
from curator_models.transformers_compat import import_transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors

library = import_transformers()

_TEXT = "the a river mountain casino click buy now of and wind stone cheap forest reads slow"
WORDS = _TEXT.split(" ")
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
SIZE = len(WORDS) + len(SPECIAL)


def save_tokenizer(folder: Path, **options: Any) -> None:
    known = {word: number for number, word in enumerate([*SPECIAL, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(known, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    library.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        **options,
    ).save_pretrained(folder)


def bert_config(**options: Any) -> Any:
    return library.BertConfig(
        vocab_size=SIZE,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        pad_token_id=0,
        initializer_range=0.6,
        **options,
    )


def save_sequence_model(folder: Path, labels: list[str], **options: Any) -> Path:
    torch.manual_seed(7)
    named = dict(enumerate(labels))
    config = bert_config(id2label=named, label2id={v: k for k, v in named.items()}, **options)
    library.BertForSequenceClassification(config).save_pretrained(folder)
    save_tokenizer(folder)
    return folder


def deberta_config() -> Any:
    return library.DebertaV2Config(
        vocab_size=SIZE,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        relative_attention=True,
        position_buckets=8,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        pad_token_id=0,
        initializer_range=0.6,
    )


def _weights(prefix: str, module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {f"{prefix}.{name}": value.contiguous() for name, value in module.state_dict().items()}


def save_first_token_model(folder: Path, labels: list[str], *, whole: bool = True) -> Path:
    """Save a DeBERTa with one layer over its first token, as NVIDIA publishes classifiers."""
    torch.manual_seed(11)
    folder.mkdir(parents=True, exist_ok=True)
    config = deberta_config()
    state = _weights("model", library.DebertaV2Model(config)) | _weights(
        "fc", torch.nn.Linear(16, len(labels))
    )
    save_file(state, folder / "model.safetensors")
    settings = config.to_dict() if whole else {"base_model": str(folder / "base")}
    settings |= {"id2label": {str(n): label for n, label in enumerate(labels)}, "fc_dropout": 0.2}
    (folder / "config.json").write_text(json.dumps(settings))
    if not whole:
        config.save_pretrained(folder / "base")
    save_tokenizer(folder)
    return folder


TARGETS = {
    "task_type": 3,
    "creativity_scope": 3,
    "reasoning": 2,
    "contextual_knowledge": 2,
    "number_of_few_shots": 3,
    "domain_knowledge": 2,
    "no_label_reason": 2,
    "constraint_ct": 2,
}


def save_prompt_model(folder: Path) -> Path:
    torch.manual_seed(13)
    folder.mkdir(parents=True)
    config = deberta_config()
    state = _weights("backbone", library.DebertaV2Model(config))
    for number, size in enumerate(TARGETS.values()):
        state |= _weights(f"head_{number}.fc", torch.nn.Linear(16, size))
    save_file(state, folder / "model.safetensors")
    scored = {name: size for name, size in TARGETS.items() if name != "task_type"}
    settings = {
        "target_sizes": TARGETS,
        "task_type_map": {"0": "Chatbot", "1": "Rewrite", "2": "Other"},
        "weights_map": {name: list(range(size)) for name, size in scored.items()},
        "divisor_map": {name: size - 1 for name, size in scored.items()},
    }
    (folder / "config.json").write_text(json.dumps(settings))
    config.save_pretrained(folder / "base")
    save_tokenizer(folder)
    return folder


def save_causal_model(folder: Path, chat_template: str | None = None) -> Path:
    torch.manual_seed(17)
    config = library.LlamaConfig(
        vocab_size=SIZE,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        initializer_range=0.6,
    )
    library.LlamaForCausalLM(config).save_pretrained(folder)
    save_tokenizer(folder, **({"chat_template": chat_template} if chat_template else {}))
    return folder


def save_guard(folder: Path, width: int = 16) -> Path:
    torch.manual_seed(19)
    folder.mkdir(parents=True)
    sizes = {"input_layer": (width, width), "hidden_layer_0": (width, 8)}
    sizes |= {"hidden_layer_1": (8, 4), "hidden_layer_2": (4, 1)}
    state: dict[str, torch.Tensor] = {}
    for name, (deep, wide) in sizes.items():
        state |= _weights(name, torch.nn.Linear(deep, wide))
    save_file(state, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"input_dim": width, "dropout": 0.7}))
    return folder


def write_adapter(folder: Path, state: dict[str, torch.Tensor], settings: dict[str, Any]) -> None:
    folder.mkdir(parents=True)
    save_file(state, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps(settings))


def save_adapter(folder: Path, layer: str) -> None:
    torch.manual_seed(23)
    state = {
        f"base_model.model.{layer}.lora_A.weight": torch.randn(2, 16),
        f"base_model.model.{layer}.lora_B.weight": torch.randn(16, 2),
    }
    write_adapter(folder, state, {"peft_type": "LORA", "r": 2, "lora_alpha": 4})


def save_sentence_model(folder: Path, pooling: dict[str, bool], *, normalize: bool) -> Path:
    """Save a model in the format of sentence-transformers: parts with a folder each."""
    torch.manual_seed(29)
    library.BertModel(bert_config(), add_pooling_layer=False).save_pretrained(folder)
    save_tokenizer(folder)
    parts = [("", "Transformer"), ("1_Pooling", "Pooling")]
    parts += [("2_Normalize", "Normalize")] if normalize else []
    listed = [
        {"idx": number, "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (path, kind) in enumerate(parts)
    ]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 6}))
    return folder


def load_state(folder: Path) -> dict[str, torch.Tensor]:
    return dict(load_file(folder / "model.safetensors"))
