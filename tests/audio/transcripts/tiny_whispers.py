"""Speech models with random weights, saved in the format of each library."""

import json
from pathlib import Path
from typing import Any

import torch
from curator_models.transformers_compat import import_transformers

_SPECIAL = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|de|>", "<|translate|>",
            "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>",
            "<|notimestamps|>"]  # fmt: skip
_LETTERS = "abcdefghijklmnopqrstuvwxyz'"


def whisper(folder: Path) -> Path:
    """Save a Whisper of two layers of width 16, with bytes as tokens and two languages."""
    library = import_transformers()
    torch.manual_seed(0)
    tokens = _tokenizer(library, folder)
    ids = {name: tokens.convert_tokens_to_ids(name) for name in _SPECIAL}
    config = library.WhisperConfig(
        vocab_size=len(tokens), d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16,
        decoder_ffn_dim=16, num_mel_bins=80, max_target_positions=64,
        decoder_start_token_id=ids["<|startoftranscript|>"], pad_token_id=ids["<|endoftext|>"],
        bos_token_id=ids["<|endoftext|>"], eos_token_id=ids["<|endoftext|>"],
        suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip
    model = library.WhisperForConditionalGeneration(config)
    model.generation_config = library.GenerationConfig(
        is_multilingual=True, lang_to_id={"<|en|>": ids["<|en|>"], "<|de|>": ids["<|de|>"]},
        task_to_id={"transcribe": ids["<|transcribe|>"], "translate": ids["<|translate|>"]},
        no_timestamps_token_id=ids["<|notimestamps|>"], max_length=24, alignment_heads=[[0, 0]],
        decoder_start_token_id=ids["<|startoftranscript|>"], eos_token_id=ids["<|endoftext|>"],
        pad_token_id=ids["<|endoftext|>"], bos_token_id=ids["<|endoftext|>"],
        max_initial_timestamp_index=50, return_timestamps=False,
    )  # fmt: skip
    model.save_pretrained(folder)
    library.WhisperFeatureExtractor(feature_size=80).save_pretrained(folder)
    return folder


def _tokenizer(library: Any, folder: Path) -> Any:
    from tokenizers.pre_tokenizers import ByteLevel

    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {letter: number for number, letter in enumerate(sorted(ByteLevel.alphabet()))}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    stamps = [f"<|{number * 0.02:.2f}|>" for number in range(1501)]
    tokens = library.WhisperTokenizer.from_pretrained(folder)
    tokens.add_special_tokens({"additional_special_tokens": _SPECIAL})
    tokens.add_tokens(stamps)
    tokens.eos_token = "<|endoftext|>"
    tokens.save_pretrained(folder)
    return tokens


def wav2vec(folder: Path) -> Path:
    """Save a model like wav2vec 2.0, which predicts a letter for every 20 ms."""
    library = import_transformers()
    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    names = ["<pad>", "<s>", "</s>", "<unk>", "|", *_LETTERS]
    (folder / "vocab.json").write_text(json.dumps({name: n for n, name in enumerate(names)}))
    library.Wav2Vec2CTCTokenizer(str(folder / "vocab.json")).save_pretrained(folder)
    library.Wav2Vec2FeatureExtractor().save_pretrained(folder)
    config = library.Wav2Vec2Config(
        vocab_size=len(names), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, conv_dim=[8] * 7, num_conv_pos_embedding_groups=2,
        num_conv_pos_embeddings=16, pad_token_id=0,
    )  # fmt: skip
    library.Wav2Vec2ForCTC(config).save_pretrained(folder)
    return folder
