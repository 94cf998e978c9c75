"""Embed texts as feature vectors."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textgamut import validation
from textgamut.errors import ConfigError, DataError, ModelError
from textgamut.features.modules import LIBRARY, OwnModules, check_pooling, own_modules
from textgamut.models.checkpoint_files import loading, silence_transformers
from textgamut.models.checkpoint_weights import check_fit, check_values, load
from textgamut.models.checkpoints import load_tokenizer
from textgamut.models.devices import choose_device, choose_dtype, range_hint
from textgamut.models.log_likelihood import padded
from textgamut.progress import Progress

if TYPE_CHECKING:
    import torch

    from textgamut.config.entries.embedders import Embedder, FeatureModel
from textgamut.models.context import context_length

logger = logging.getLogger(__name__)
REVISION = 1
"""Increase when the same texts produce different features."""

CPU_TOKENS = 2048
"""Maximum number of tokens per batch on a CPU, padding included. With more, the states no longer fit into its
caches, and MiniLM is slower (``benchmarks/embedding.py --cpu-tokens``)."""


MOST_UNREAD, SAMPLE, BEGINNING = 0.75, 200, 1000
"""Share of letters without a token of several letters beyond which the script of texts was hardly seen; and
number of texts, and of their first characters, that are looked at.

Of MiniLM it is less in English and German, and more in Russian, Arabic, Hindi, Chinese, Japanese, Korean and
Thai; of multilingual E5 it is less in all of these (``tests/unit/features/test_multilingual.py``)."""


class Features(NamedTuple):
    """Feature vectors of texts."""

    vectors: NDArray[np.float32]
    """(N, d)."""
    truncated: int
    """Number of texts longer than the embedder's maximum."""
    empty: int
    """Number of texts that contain only white space."""
    unread: float
    """Share of their letters that are a token of their own, or in an unknown one."""

    def check_script(self, whose: str, embedder: str) -> None:
        """Check that the embedder has seen the script of the texts.

        Args:
            whose: The texts, for the message.
            embedder: Name of the embedder.

        Warns:
            UserWarning: If most of their letters are no part of a known word or syllable.
        """
        if self.unread > MOST_UNREAD:
            warnings.warn(
                f"{whose}: {self.unread:.0%} of the letters are unknown to the embedder {embedder} or single "
                "tokens: it has hardly seen this script; choose a multilingual embedder",
                stacklevel=2,
            )


class LoadedEmbedder(NamedTuple):
    """An embedder with its weights in memory, from :func:`load_embedder`."""

    model: Any
    """The transformer."""
    tokenizer: Any
    prompt: str
    """Prefix of every text."""
    encode: Callable[[Sequence[tuple[int, ...]], list[str]], NDArray[np.float32]]
    """Embeds a batch, given as token ids and as texts: (B, d)."""
    max_tokens: int
    batch_size: int
    batch_tokens: int | None
    """Maximum number of tokens per batch, padding included; None for no maximum."""

    def embed(self, texts: Sequence[str]) -> Features:
        """Embed texts, see :func:`embed`."""
        texts = validation.texts("texts", texts)
        if not texts:
            raise DataError("texts: there are no texts to embed")
        tokens, truncated = _tokenize(self, texts)
        if truncated:
            logger.warning("%d of %d texts were cut to %d tokens", truncated, len(texts), self.max_tokens)
        times = Counter(tokens)
        unique = sorted(times, key=lambda ids: (-len(ids), ids))
        text_of = dict(zip(tokens, texts, strict=True))
        parts = []
        progress = Progress(len(texts), "texts")
        for batch in _batches(unique, self.batch_size, self.batch_tokens):
            parts.append(self.encode(batch, [text_of[ids] for ids in batch]))
            progress.advance(sum(times[ids] for ids in batch))
        row = {ids: i for i, ids in enumerate(unique)}
        different = np.concatenate(parts)
        if not np.isfinite(different).all():
            raise ModelError(f"the embedder's features are not finite: {range_hint(self.model.dtype)}")
        if len(different) > 1 and np.ptp(different, axis=0).max() <= 1e-6 * np.abs(different).max():
            raise ModelError(
                f"the embedder gives {len(different)} different texts the same features: its weights, or "
                "values in its config.json, are damaged, or its pooling is cls although it reads texts from "
                "left to right"
            )
        vectors = different[[row[ids] for ids in tokens]]
        empty = sum(not text.strip() for text in texts)
        return Features(vectors, truncated, empty, _unread(self.tokenizer, texts))


def load_embedder(
    folder: Path, embedder: FeatureModel, device: torch.device, batch_size: int
) -> LoadedEmbedder:
    """Load an embedder, for several sets of texts.

    Args:
        folder: The checkpoint.
        embedder: What decides the features, of its registry entry.
        device: Device of the computation.
        batch_size: Maximum number of texts per batch.

    Raises:
        TextgamutError: If ``max_tokens`` exceeds the model's limit or leaves no room beside the special
            tokens, the checkpoint cannot be loaded, or sentence-transformers is needed and not installed.
    """
    silence_transformers()
    if embedder.pooling == LIBRARY:
        loaded = _load_own(folder, embedder, device, batch_size)
    else:
        check_pooling(folder, embedder)
        loaded = _load_network(folder, embedder, device, batch_size)
    _check_room(loaded)
    return loaded


def embed(
    texts: Sequence[str], folder: str | Path, embedder: Embedder, device: str | torch.device
) -> Features:
    """Embed texts: pool the states of a transformer's last layer, in float32, to one vector per text.

    ``embedder.pooling`` selects the pooling (of an encoder-decoder model only the encoder is used):

    - ``mean``: the mean over the tokens, including special tokens.
    - ``cls``: the first token, for encoders trained this way.
    - ``last-token``: the last token, after the final norm, for decoder-only models (PR section 4.2).
    - ``sentence-transformers``: what ``modules.json`` of the checkpoint states (pooling, dense layers,
      normalisation, default prompt). The library of that name is needed, and runs the modules in ``dtype``,
      if they do more than one of the poolings above and normalisation to unit length.

    Texts are sorted by their number of tokens to keep padding small. Texts with the same tokens are embedded
    once, so their vectors are identical to the last bit. The order of the rows does not change the vectors;
    the batch size changes them by floating-point noise (float32: less than 1e-4 of the largest value).

    Args:
        texts: N >= 1 texts. A text without tokens, special tokens included, is replaced by the single token
            BOS, or EOS if the tokenizer has no BOS.
        folder: The checkpoint.
        embedder: Its registry entry. Texts longer than ``max_tokens`` are truncated at the end.
        device: Device of the computation, or its name.

    Returns:
        The features, row i for text i.

    Raises:
        TextgamutError: If there are no texts, or the checkpoint cannot be loaded.

    Warns:
        UserWarning: If ``modules.json`` of the checkpoint states another pooling than ``embedder.pooling``,
            or the embedder has hardly seen the script of the texts.
    """
    from textgamut.config.entries.embedders import Embedder

    texts, folder = validation.texts("texts", texts), validation.path("folder", folder)
    embedder = validation.instance(
        "embedder", embedder, Embedder, "an entry of embedders.yaml, see load_config"
    )
    found = load_embedder(folder, embedder, choose_device(device), embedder.batch_size).embed(texts)
    found.check_script("texts", embedder.label)
    return found


def compute_dtype(embedder: FeatureModel, device: torch.device) -> torch.dtype:
    """Resolve an embedder's dtype on a device: ``auto`` is float32 on a CPU and 16 bits on a GPU."""
    on_cpu = embedder.dtype == "auto" and device.type == "cpu"
    return choose_dtype("float32" if on_cpu else embedder.dtype, device)


def _batches(
    tokens: Sequence[tuple[int, ...]], batch_size: int, max_tokens: int | None
) -> Iterator[Sequence[tuple[int, ...]]]:
    """Split lists of tokens, longest first, into batches of at most that many lists and, padded, tokens."""
    start = 0
    while start < len(tokens):
        fitting = (
            batch_size if max_tokens is None else min(batch_size, max(1, max_tokens // len(tokens[start])))
        )
        yield tokens[start : start + fitting]
        start += fitting


def _load_network(
    folder: Path, embedder: FeatureModel, device: torch.device, batch_size: int
) -> LoadedEmbedder:
    import torch
    from transformers import AutoModel

    model = load(AutoModel, folder, compute_dtype(embedder, device), embedder=True)
    tokenizer = load_tokenizer(folder)
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    model.config.use_cache = False
    model = model.to(device).eval()
    tokenizer.truncation_side = "right"

    def encode(batch: Sequence[tuple[int, ...]], _: list[str]) -> NDArray[np.float32]:
        ids, mask = (tensor.to(device) for tensor in padded(batch))
        with torch.inference_mode():
            states = model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
            pooled = _pool(states, mask, embedder.pooling)
        vectors: NDArray[np.float32] = pooled.cpu().numpy()
        return vectors

    batch_tokens = CPU_TOKENS if device.type == "cpu" else None
    return LoadedEmbedder(
        model, tokenizer, embedder.prompt, encode, embedder.max_tokens, batch_size, batch_tokens
    )


def _pool(states: torch.Tensor, mask: torch.Tensor, pooling: str) -> torch.Tensor:
    """Pool states (B, T, d), padded on the right according to the mask (B, T), to vectors (B, d)."""
    if pooling == "cls":
        return states[:, 0]
    if pooling == "last-token":
        last = mask.sum(dim=1) - 1
        return states[last.new_tensor(range(len(states))), last]
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1)


def _load_own(folder: Path, embedder: FeatureModel, device: torch.device, batch_size: int) -> LoadedEmbedder:
    """Load a checkpoint with its own modules, without their library if one of our poolings does the same."""
    own = own_modules(folder)
    if own.pooling is None:
        return _load_library(folder, own, embedder, device, batch_size)
    pooled = embedder.model_copy(update={"pooling": own.pooling})
    plain = _load_network(own.transformer, pooled, device, batch_size)
    if not own.unit_length:
        return plain

    def encode(batch: Sequence[tuple[int, ...]], texts: list[str]) -> NDArray[np.float32]:
        vectors = plain.encode(batch, texts)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)

    return plain._replace(encode=encode)


def _load_library(
    folder: Path, own: OwnModules, embedder: FeatureModel, device: torch.device, batch_size: int
) -> LoadedEmbedder:
    from transformers import AutoModel

    check_fit(AutoModel, own.transformer, embedder=True)
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise ModelError(
            f"{folder}: the modules of this checkpoint require the package sentence-transformers: "
            "pip install 'textgamut[sentence-transformers]'"
        ) from None
    with loading(folder):
        library = SentenceTransformer(
            str(folder),
            device=str(device),
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"dtype": compute_dtype(embedder, device), "use_safetensors": True},
        )
    check_values(own.transformer, library.transformers_model)
    if library.tokenizer.pad_token is None:
        raise ModelError(f"{folder}: the tokenizer has no padding token, which {LIBRARY} needs")
    library.max_seq_length = embedder.max_tokens

    def encode(_: Sequence[tuple[int, ...]], batch: list[str]) -> NDArray[np.float32]:
        return np.asarray(library.encode(batch, batch_size=len(batch), show_progress_bar=False), np.float32)

    prompt = embedder.prompt
    if not prompt and library.default_prompt_name:
        prompt = library.prompts[library.default_prompt_name] or ""
    batch_tokens = CPU_TOKENS if device.type == "cpu" else None
    return LoadedEmbedder(
        library.transformers_model,
        library.tokenizer,
        prompt,
        encode,
        embedder.max_tokens,
        batch_size,
        batch_tokens,
    )


def check_length(max_tokens: int, longest: int | None) -> None:
    """Check that ``max_tokens`` does not exceed the context length of a model, None for unlimited."""
    if longest is not None and max_tokens > longest:
        raise ConfigError(f"max_tokens: {max_tokens} exceeds the {longest} tokens that this model supports")


def _check_room(loaded: LoadedEmbedder) -> None:
    """Check that ``max_tokens`` fits the model and leaves room for at least one token of text."""
    check_length(loaded.max_tokens, context_length(loaded.model.config.to_dict(), model=loaded.model))
    special = loaded.tokenizer.num_special_tokens_to_add()
    if loaded.max_tokens <= special:
        raise ConfigError(f"max_tokens: {loaded.max_tokens} leaves no room beside {special} special tokens")


def _tokenize(loaded: LoadedEmbedder, texts: Sequence[str]) -> tuple[list[tuple[int, ...]], int]:
    """Return the token ids of each text, at most ``max_tokens``, and the number of truncated texts."""
    tokenizer, most = loaded.tokenizer, loaded.max_tokens
    whole = [loaded.prompt + text for text in texts]
    tokens = tokenizer(whole)["input_ids"]
    too_long = [i for i, ids in enumerate(tokens) if len(ids) > most]
    if too_long:  # truncated by the tokenizer, which keeps special tokens at the end
        cut = tokenizer([whole[i] for i in too_long], truncation=True, max_length=most)["input_ids"]
        for i, ids in zip(too_long, cut, strict=True):
            tokens[i] = ids
    nothing = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    return [tuple(ids) or (nothing,) for ids in tokens], len(too_long)


def _unread(tokenizer: Any, texts: Sequence[str]) -> float:
    """Return the share of letters that no token of several letters covers; 0 without letters."""
    if not tokenizer.is_fast:  # it does not say which characters a token is of
        return 0.0
    sample = [text[:BEGINNING] for text in texts[:: -(-len(texts) // SAMPLE)]]
    encoded = tokenizer(sample, add_special_tokens=False, return_offsets_mapping=True)
    letters = read = 0
    for text, ids, places in zip(sample, encoded["input_ids"], encoded["offset_mapping"], strict=True):
        letters += sum(map(str.isalpha, text))
        for token, (start, end) in zip(ids, places, strict=True):
            inside = sum(map(str.isalpha, text[start:end]))
            read += inside if inside > 1 and token != tokenizer.unk_token_id else 0
    return max(0.0, 1 - read / letters) if letters else 0.0
