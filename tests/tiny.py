"""Tiny checkpoints of real architectures with random weights, and a tokenizer of single characters."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

END, UNKNOWN = "<end>", "<unk>"
CHARACTERS = string.ascii_letters + string.digits + " .,:;!?'\n-#\"()"
SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
HEADS = {"num_key_value_heads": 2, "intermediate_size": 48, "head_dim": 8}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "llama": SHAPE | HEADS,
    "qwen2": SHAPE | HEADS,
    "mistral": SHAPE | HEADS | {"sliding_window": 8},
    "gemma3_text": SHAPE
    | HEADS
    | {"sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]},
    "gpt_neox": SHAPE | {"intermediate_size": 48},
    "falcon": SHAPE | {"new_decoder_architecture": True, "num_kv_heads": 2},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4},
    "bloom": SHAPE,
    "opt": SHAPE | {"ffn_dim": 48, "word_embed_proj_dim": 32},
}
"""Of the papers' models and the demo's: name of the architecture -> its configuration."""


def tokenizer() -> Any:
    """Return a tokenizer whose tokens are characters; `<end>` ends a text, pads it, and begins it."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: i for i, token in enumerate([END, UNKNOWN, *CHARACTERS])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    backend.decoder = decoders.Fuse()
    backend.post_processor = processors.TemplateProcessing(
        single=f"{END} $A", special_tokens=[(END, vocabulary[END])]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token=END,
        eos_token=END,
        pad_token=END,
        unk_token=UNKNOWN,
        padding_side="left",
    )


def model(architecture: str, seed: int = 0) -> Any:
    """Return a model with random weights, so large that its choices are far apart."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(seed)
    size = len(CHARACTERS) + 2
    config = AutoConfig.for_model(
        architecture,
        **ARCHITECTURES[architecture],
        vocab_size=size,
        max_position_embeddings=256,
        initializer_range=0.3,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=0,
    )
    return AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()


def write_checkpoint(folder: Path, architecture: str = "llama", seed: int = 0) -> Path:
    """Write such a checkpoint as transformers loads it."""
    model(architecture, seed).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder
