"""Features: those of one text at a time, whatever the batch and the order, and of sentence-transformers."""

from __future__ import annotations

import logging
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from textgamut.config.entries.embedders import Embedder
from textgamut.errors import TextgamutError
from textgamut.features import embed as embedding
from textgamut.features.embed import Features, compute_dtype, embed

CPU = torch.device("cpu")
LONG = "Stocks fell on Monday, and rose again. " * 10
TEXTS = ["A short text.", "", "ünïcödé 日本語", LONG, "Goal!", " \n", "Goal!", LONG + "Not on Tuesday.", "a"]
MAX_TOKENS = 32


def tokenizer_for(special: dict[str, str], template: str | None = None):
    """A byte-level tokenizer, with or without special tokens around a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(dict.fromkeys(special.values())),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(["Stocks fell and rose again on Monday.", "A short text."], trainer)
    if template:
        named = [(token, tokenizer.token_to_id(token)) for token in special.values()]
        tokenizer.post_processor = processors.TemplateProcessing(template, special_tokens=named)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def save_checkpoint(folder: Path, kind: str) -> Path:
    """Save a small random checkpoint: two decoders, two encoders, encoder-decoder."""
    from transformers import (
        BartConfig,
        BartModel,
        BertConfig,
        BertModel,
        GPT2Config,
        GPT2Model,
        OPTConfig,
        OPTModel,
        RobertaConfig,
        RobertaModel,
    )

    if kind == "gpt2":  # no special tokens in a text, no padding token
        tokenizer = tokenizer_for({"bos_token": "<|end|>", "eos_token": "<|end|>"})
    else:
        tokenizer = tokenizer_for(
            {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>"}, "<s> $A </s>"
        )
    torch.manual_seed(0)
    vocabulary, wide = len(tokenizer), {"hidden_size": 24, "intermediate_size": 48, "num_hidden_layers": 2}
    encoder = {"vocab_size": vocabulary, **wide, "num_attention_heads": 2, "initializer_range": 0.3}
    network = {
        "gpt2": lambda: GPT2Model(
            GPT2Config(
                vocab_size=vocabulary, n_embd=24, n_layer=2, n_head=2, n_positions=32, initializer_range=0.3
            )
        ),
        "opt": lambda: OPTModel(
            OPTConfig(
                vocab_size=vocabulary, hidden_size=24, word_embed_proj_dim=24, ffn_dim=48, init_std=0.3,
                num_hidden_layers=2, num_attention_heads=2, max_position_embeddings=32, pad_token_id=1,
            )
        ),
        "bert": lambda: BertModel(BertConfig(**encoder, max_position_embeddings=32, pad_token_id=1)),
        # Positions start after the padding token's id, 1: 34 are room for 32 tokens.
        "roberta": lambda: RobertaModel(RobertaConfig(**encoder, max_position_embeddings=34, pad_token_id=1)),
        "bart": lambda: BartModel(
            BartConfig(
                vocab_size=vocabulary, d_model=24, encoder_layers=2, decoder_layers=1, init_std=0.3,
                encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=48,
                max_position_embeddings=32, pad_token_id=1,
            )
        ),
    }[kind]()  # fmt: skip
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory) -> dict[str, Path]:
    kinds = ("gpt2", "opt", "bert", "roberta", "bart")
    return {kind: save_checkpoint(tmp_path_factory.mktemp(kind), kind) for kind in kinds}


@pytest.fixture(scope="module")
def library_checkpoint(checkpoints, tmp_path_factory) -> Path:
    """A checkpoint of sentence-transformers: a prompt, then the first token, a dense layer, unit length."""
    pytest.importorskip("sentence_transformers")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer

    torch.manual_seed(0)
    modules = [Transformer(str(checkpoints["bert"])), Pooling(24, "cls"), Dense(24, 7), Normalize()]
    folder = tmp_path_factory.mktemp("library")
    SentenceTransformer(
        modules=modules, prompts={"topic": "About: "}, default_prompt_name="topic", device="cpu"
    ).save(str(folder))
    return folder


def entry(pooling: str, **changes) -> Embedder:
    fields = {"label": "x", "source": {"kind": "file", "path": "x"}, "max_tokens": MAX_TOKENS}
    return Embedder.model_validate(fields | {"pooling": pooling, "batch_size": 4} | changes)


def one_by_one(folder: Path, kind: str, pooling: str, texts: list[str]) -> np.ndarray:
    """The definition: each text alone, without padding, from the hidden states of the whole model."""
    from transformers import AutoTokenizer, BartModel, BertModel, GPT2Model, OPTModel, RobertaModel

    tokenizer = AutoTokenizer.from_pretrained(folder)
    family = {
        "gpt2": GPT2Model, "opt": OPTModel, "bert": BertModel, "roberta": RobertaModel, "bart": BartModel,
    }[kind]  # fmt: skip
    model = family.from_pretrained(folder).eval()
    model = model.get_encoder() if kind == "bart" else model
    vectors = []
    for text in texts:
        ids = tokenizer(text, truncation=True, max_length=MAX_TOKENS)["input_ids"] or [tokenizer.bos_token_id]
        with torch.no_grad():
            states = model(torch.tensor([ids]), output_hidden_states=True).hidden_states[-1][0].numpy()
        vectors.append({"mean": states.mean(axis=0), "cls": states[0], "last-token": states[-1]}[pooling])
    return np.array(vectors)


CASES = [
    ("gpt2", "last-token"),
    ("opt", "last-token"),
    ("bert", "cls"),
    ("bert", "mean"),
    ("roberta", "cls"),
    ("roberta", "last-token"),
    ("bart", "mean"),
    ("bart", "cls"),
]


@pytest.mark.parametrize(("kind", "pooling"), CASES)
def test_equals_one_text_at_a_time(checkpoints, kind: str, pooling: str) -> None:
    expected = one_by_one(checkpoints[kind], kind, pooling, TEXTS)
    features = embed(TEXTS, checkpoints[kind], entry(pooling), CPU)
    assert features.vectors.dtype == np.float32
    assert np.abs(features.vectors - expected).max() < 1e-5 * np.abs(expected).max()
    assert (features.truncated, features.empty) == (2, 2)


@pytest.mark.parametrize(("kind", "pooling"), [*CASES, ("library", "sentence-transformers")])
def test_batch_size_and_order_do_not_matter(checkpoints, request, kind: str, pooling: str) -> None:
    folder = request.getfixturevalue("library_checkpoint") if kind == "library" else checkpoints[kind]
    whole = embed(TEXTS, folder, entry(pooling, batch_size=64), CPU).vectors
    for batch_size in (1, 3):
        other = embed(TEXTS, folder, entry(pooling, batch_size=batch_size), CPU).vectors
        assert np.abs(whole - other).max() < 1e-4 * np.abs(whole).max()
        backwards = embed(TEXTS[::-1], folder, entry(pooling, batch_size=batch_size), CPU).vectors[::-1]
        assert (backwards == other).all()


@given(st.lists(st.integers(1, 50)), st.integers(1, 9), st.integers(1, 100) | st.none())
def test_batches_hold_so_many_texts_and_tokens(lengths: list[int], most: int, max_tokens: int | None) -> None:
    """All texts in order, and in each batch as many as may be; one that is too long for any stands alone."""
    tokens = [(0,) * length for length in sorted(lengths, reverse=True)]
    batches = [list(batch) for batch in embedding._batches(tokens, most, max_tokens)]
    assert [ids for batch in batches for ids in batch] == tokens

    def fits(count: int, longest: int) -> bool:
        return count <= most and (max_tokens is None or count * longest <= max_tokens or count == 1)

    for batch in batches:
        assert fits(len(batch), len(batch[0]))
    for batch in batches[:-1]:
        assert not fits(len(batch) + 1, len(batch[0]))


def test_a_cpu_takes_few_tokens_at_once(checkpoints, monkeypatch) -> None:
    whole = embed(TEXTS, checkpoints["bert"], entry("mean", batch_size=64), CPU).vectors
    sizes: list[int] = []
    batches = embedding._batches

    def counted(*given):
        for batch in batches(*given):
            sizes.append(len(batch))
            yield batch

    monkeypatch.setattr(embedding, "_batches", counted)
    monkeypatch.setattr(embedding, "CPU_TOKENS", 2 * MAX_TOKENS)
    few = embed(TEXTS, checkpoints["bert"], entry("mean", batch_size=64), CPU).vectors
    assert sizes[0] == 2
    assert np.abs(whole - few).max() < 1e-4 * np.abs(whole).max()


@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_same_tokens_have_the_same_vector(checkpoints, batch_size: int) -> None:
    """To the last bit, also where texts differ only behind the cut; different texts differ."""
    features = embed(TEXTS, checkpoints["bert"], entry("mean", batch_size=batch_size), CPU).vectors
    assert (features[4] == features[6]).all()
    assert (features[3] == features[7]).all()
    assert len(np.unique(features, axis=0)) == len(TEXTS) - 2


def test_equals_the_library(library_checkpoint) -> None:
    from sentence_transformers import SentenceTransformer

    library = SentenceTransformer(str(library_checkpoint), device="cpu")
    library.max_seq_length = 20
    expected = np.stack([library.encode(text) for text in TEXTS])
    features = embed(TEXTS, library_checkpoint, entry("sentence-transformers", max_tokens=20), CPU)
    assert features.vectors.shape == (len(TEXTS), 7)
    assert np.abs(features.vectors - expected).max() < 1e-6
    assert np.abs(expected - library.encode(TEXTS, prompt="")).max() > 1e-3  # the prompt matters here
    assert features.truncated == 3


def test_a_prompt_counts_as_tokens(library_checkpoint) -> None:
    """The library cuts prompt and text together: so a text that fits alone is cut after its prompt."""
    text = "a" * (MAX_TOKENS - 2)
    assert embed([text], library_checkpoint, entry("sentence-transformers"), CPU).truncated == 1
    with pytest.warns(UserWarning, match="prompt 'About: ', cls, Dense"):
        assert embed([text], library_checkpoint, entry("mean"), CPU).truncated == 0


@pytest.mark.parametrize("kind", ["gpt2", "opt", "bert", "roberta", "bart"])
def test_no_more_tokens_than_the_model_can_take(checkpoints, kind: str) -> None:
    with pytest.raises(TextgamutError, match="33 exceeds the 32 tokens that this model supports"):
        embed(TEXTS, checkpoints[kind], entry("mean", max_tokens=33), CPU)


def test_no_more_tokens_than_the_library_can_take(library_checkpoint) -> None:
    with pytest.raises(TextgamutError, match="33 exceeds the 32 tokens"):
        embed(TEXTS, library_checkpoint, entry("sentence-transformers", max_tokens=33), CPU)


def test_a_text_needs_room_beside_special_tokens(checkpoints) -> None:
    with pytest.raises(TextgamutError, match="max_tokens: 2 leaves no room beside 2 special tokens"):
        embed(TEXTS, checkpoints["bert"], entry("mean", max_tokens=2), CPU)


def test_a_tokenizer_needs_no_token_for_padding(checkpoints, tmp_path) -> None:
    shutil.copytree(checkpoints["gpt2"], tmp_path, dirs_exist_ok=True)
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    texts = ["A short text.", LONG]
    found = embed(texts, tmp_path, entry("mean"), CPU).vectors
    np.testing.assert_array_equal(found, embed(texts, checkpoints["gpt2"], entry("mean"), CPU).vectors)


def test_nothing_to_embed(checkpoints) -> None:
    with pytest.raises(TextgamutError, match="there are no texts"):
        embed([], checkpoints["bert"], entry("mean"), CPU)


def test_the_log_has_the_cut_and_nothing_of_transformers(checkpoints, caplog, capfd) -> None:
    logging.getLogger("textgamut").propagate = True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        embed(TEXTS, checkpoints["gpt2"], entry("last-token"), CPU)
    told = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert told == [f"2 of {len(TEXTS)} texts were cut to {MAX_TOKENS} tokens"]
    assert capfd.readouterr() == ("", "")


def test_progress_counts_every_text(checkpoints, caplog) -> None:
    logging.getLogger("textgamut").propagate = True
    with caplog.at_level(logging.INFO, logger="textgamut"):
        embed(["Goal!"] * 7, checkpoints["bert"], entry("mean"), CPU)
    assert "7 of 7 texts" in caplog.text


def test_without_the_library(library_checkpoint, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(TextgamutError, match="pip install"):
        embed(TEXTS, library_checkpoint, entry("sentence-transformers"), CPU)


def test_the_library_does_not_guess_its_modules(checkpoints) -> None:
    with pytest.raises(TextgamutError, match=r"it has no modules\.json"):
        embed(TEXTS, checkpoints["bert"], entry("sentence-transformers"), CPU)


def test_weights_other_than_safetensors_are_not_read(checkpoints, tmp_path) -> None:
    for file in checkpoints["bert"].iterdir():
        if file.suffix == ".json":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    torch.save({}, tmp_path / "pytorch_model.bin")
    with pytest.raises(TextgamutError, match=r"has no weights: there is no model\.safetensors"):
        embed(TEXTS, tmp_path, entry("mean"), CPU)


def test_dtype(checkpoints) -> None:
    assert compute_dtype(entry("mean"), CPU) == torch.float32
    assert compute_dtype(entry("mean", dtype="auto"), CPU) == torch.float32
    assert compute_dtype(entry("mean", dtype="bfloat16"), CPU) == torch.bfloat16
    exact = embed(TEXTS, checkpoints["bert"], entry("mean"), CPU).vectors
    rough = embed(TEXTS, checkpoints["bert"], entry("mean", dtype="bfloat16"), CPU).vectors
    assert rough.dtype == np.float32
    assert 1e-5 < np.abs(exact - rough).max() / np.abs(exact).max() < 0.1


def test_hardware_is_not_science() -> None:
    assert entry("mean").science() == entry("mean", batch_size=1).science()
    for change in ({"pooling": "cls"}, {"dtype": "auto"}, {"max_tokens": 1}):
        assert entry(**({"pooling": "mean"} | change)).science() != entry("mean").science()


# --- real checkpoints ---------------------------------------------------------------------------------

REAL = ["A short text.", "", "Stocks fell on Monday. " * 10, "ünïcödé 日本語", "word " * 400, "Goal!"] * 3


@pytest.fixture(scope="module")
def minilm(demo):
    from textgamut.sources.fetch import fetch

    return fetch(demo.embedders["minilm"].source)


def minilm_features(demo, minilm, texts, **changes) -> Features:
    return embed(texts, minilm, demo.embedders["minilm"].model_copy(update=changes), CPU)


@pytest.mark.slow
def test_minilm_equals_sentence_transformers(demo, minilm) -> None:
    library = pytest.importorskip("sentence_transformers")
    theirs = library.SentenceTransformer(str(minilm), device="cpu").encode(REAL)
    ours = minilm_features(demo, minilm, REAL).vectors
    unit = ours / np.linalg.norm(ours, axis=1, keepdims=True)
    assert np.abs(unit - theirs).max() < 1e-6
    through = minilm_features(demo, minilm, REAL, pooling="sentence-transformers")
    assert np.abs(through.vectors - theirs).max() < 1e-6
    assert through.truncated == 3


@pytest.mark.slow
def test_minilm_in_any_batch_and_order(demo, minilm) -> None:
    whole = minilm_features(demo, minilm, REAL).vectors
    one_by_one = minilm_features(demo, minilm, REAL[::-1], batch_size=1).vectors[::-1]
    assert np.abs(whole - one_by_one).max() < 1e-4 * np.abs(whole).max()


@pytest.mark.slow
def test_last_token_of_a_real_decoder(smollm2) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(smollm2)
    model = AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32).eval()
    expected = []
    for text in REAL[:6]:
        ids = tokenizer(text)["input_ids"][:64] or [tokenizer.bos_token_id]
        with torch.no_grad():
            expected.append(model(torch.tensor([ids]), output_hidden_states=True).hidden_states[-1][0, -1])
    wanted = torch.stack(expected).numpy()
    features = embed(REAL, smollm2, entry("last-token", max_tokens=64, batch_size=5), CPU)
    assert np.abs(features.vectors - np.tile(wanted, (3, 1))).max() < 1e-4 * np.abs(wanted).max()
    assert features.truncated == 3
