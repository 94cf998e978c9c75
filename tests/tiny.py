"""Tiny checkpoints of real architectures with random weights, and a tokenizer of single characters."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

END, UNKNOWN = "<end>", "<unk>"
CHARACTERS = string.ascii_letters + string.digits + " .,:;!?'\n-#\"()"
SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
HEADS = {"num_key_value_heads": 2, "intermediate_size": 48, "head_dim": 8}
SIDES = {"layers": 2, "attention_heads": 4, "ffn_dim": 48}
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
ENCODER_DECODERS: dict[str, dict[str, Any]] = {
    "bart": {
        **{f"{side}_{what}": value for side in ("encoder", "decoder") for what, value in SIDES.items()},
        "d_model": 32,
        "init_std": 1.0,
        "forced_eos_token_id": None,
    },
    "t5": {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "initializer_factor": 1.0},
}
"""The same of those that read a prompt with an encoder."""


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


def model(architecture: str, seed: int = 0, **settings: Any) -> Any:
    """Return a model with random weights, so large that its choices are far apart."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

    torch.manual_seed(seed)
    size = len(CHARACTERS) + 2
    of_two = architecture in ENCODER_DECODERS
    shape = (ENCODER_DECODERS | ARCHITECTURES)[architecture] | {
        **({"decoder_start_token_id": 0, "tie_word_embeddings": False} if of_two else {}),
        "vocab_size": size,
        "max_position_embeddings": 256,
        "initializer_range": 0.3,
        **dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), 0),
    }
    config = AutoConfig.for_model(architecture, **shape | settings)
    kind = AutoModelForSeq2SeqLM if of_two else AutoModelForCausalLM
    return kind.from_config(config, dtype=torch.float32).eval()


def write_checkpoint(folder: Path, architecture: str = "llama", seed: int = 0, **settings: Any) -> Path:
    """Write such a checkpoint as transformers loads it; ``settings`` replace those of its configuration."""
    model(architecture, seed, **settings).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder
