"""Likelihood: equal to the models' own loss text by text, to what is known without a model, in any batch."""

from __future__ import annotations

import functools
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from textgamut.config.entries.decoding import GreedyDecoding
from textgamut.config.entries.models import Bos
from textgamut.errors import TextgamutError
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.requests import Request, encode
from textgamut.metrics.likelihood import Likelihood, likelihood
from textgamut.models import log_likelihood
from textgamut.models.checkpoints import load_causal_model, load_tokenizer

CONTEXT = 48
VOCABULARY = 300
PROMPTS = ["Stocks fell on", "", "The president said that the", "ünïcödé", "A", "Goal", "x" * 20]
CONTINUATIONS = [" Monday, and rose", "A text without a prompt.", " law", " 日本語", " man", "!", "y"]


def tokenizer_with(vocabulary: int = VOCABULARY, **names: str):
    """A byte-level tokenizer that adds BOS; with 256 tokens besides the special ones, these are the bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    special = {f"{name}_token": token for name, token in names.items()}
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=sorted(set(special.values())),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(["Stocks fell on Monday, and rose. The man said that it fell."], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special, add_bos_token="bos" in names)


@pytest.fixture(scope="module")
def tokenizer():
    return tokenizer_with(bos="<s>", eos="</s>")


def decoder(kind: str):
    """A small random model: learned positions, or rotary ones with the logits squashed at the end."""
    from transformers import Gemma2Config, Gemma2ForCausalLM, GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    if kind == "gpt2":
        config = GPT2Config(
            vocab_size=VOCABULARY, n_embd=16, n_layer=2, n_head=2, n_positions=CONTEXT, initializer_range=0.5
        )
        return GPT2LMHeadModel(config).eval()
    config = Gemma2Config(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=32, num_hidden_layers=2, head_dim=8,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=CONTEXT, sliding_window=16,
        final_logit_softcapping=5.0, initializer_range=0.5,
    )  # fmt: skip
    return Gemma2ForCausalLM(config).eval()


@functools.cache
def byte_model():
    """A small random model whose tokens are the bytes."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=257, n_embd=16, n_layer=1, n_head=2, n_positions=128, initializer_range=0.5
    )
    return GPT2LMHeadModel(config).eval(), tokenizer_with(257, bos="<s>", eos="<s>")


@pytest.fixture(scope="module")
def model():
    return decoder("gpt2")


def by_the_loss(model, tokenizer, prompt: str, continuation: str) -> tuple[float, int]:
    """Log-likelihood and number of tokens from the loss that the model itself computes, of one text."""
    plain = {"add_special_tokens": False, "split_special_tokens": True}
    head = tokenizer(prompt, split_special_tokens=True)["input_ids"]
    tail = tokenizer(continuation, **plain)["input_ids"]
    labels = torch.tensor([[-100] * len(head) + tail])
    with torch.no_grad():
        loss = model(torch.tensor([head + tail]), labels=labels).loss
    return -loss.item() * len(tail), len(tail)


@pytest.mark.parametrize("kind", ["gpt2", "gemma2"])
@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_equals_the_loss_text_by_text(tokenizer, kind: str, batch_size: int) -> None:
    model = decoder(kind)
    result = likelihood(model, tokenizer, PROMPTS, CONTINUATIONS, batch_size)
    pairs = zip(PROMPTS, CONTINUATIONS, strict=True)
    expected = np.array([by_the_loss(model, tokenizer, *pair) for pair in pairs])
    assert result.log_likelihood == pytest.approx(expected[:, 0], rel=1e-5)
    assert (result.tokens == expected[:, 1]).all()
    assert result.perplexity == pytest.approx(math.exp(-expected[:, 0].sum() / expected[:, 1].sum()))
    assert result.coherence == pytest.approx((expected[:, 0] / expected[:, 1]).mean())
    assert result.perplexities == pytest.approx(np.exp(-expected[:, 0] / expected[:, 1]))
    assert result.truncated == 0


@pytest.mark.parametrize("kind", ["gpt2", "gemma2"])
def test_batch_size_and_order_do_not_matter(tokenizer, kind: str) -> None:
    model = decoder(kind)
    whole = likelihood(model, tokenizer, PROMPTS, CONTINUATIONS, 64).log_likelihood
    for batch_size in (1, 2, 3):
        other = likelihood(model, tokenizer, PROMPTS[::-1], CONTINUATIONS[::-1], batch_size)
        assert other.log_likelihood[::-1] == pytest.approx(whole, rel=1e-5)


def test_a_small_bound_on_the_logits_changes_nothing(model, tokenizer, monkeypatch) -> None:
    whole = likelihood(model, tokenizer, PROMPTS, CONTINUATIONS).log_likelihood
    sizes: list[int] = []
    score = log_likelihood._of_batch

    def counted(model, heads, scored):
        sizes.append(len(heads))
        return score(model, heads, scored)

    monkeypatch.setattr(log_likelihood, "_of_batch", counted)
    monkeypatch.setattr(log_likelihood, "LOGITS_BYTES", 4 * VOCABULARY * 50)  # fifty tokens
    assert likelihood(model, tokenizer, PROMPTS, CONTINUATIONS).log_likelihood == pytest.approx(
        whole, rel=1e-5
    )
    assert len(set(sizes)) > 1
    monkeypatch.setattr(log_likelihood, "LOGITS_BYTES", 0)
    likelihood(model, tokenizer, PROMPTS, CONTINUATIONS)
    assert sizes[-len(PROMPTS) :] == [1] * len(PROMPTS)


def test_a_model_that_gives_all_its_logits(model, tokenizer) -> None:
    class All(torch.nn.Module):
        config, dtype, device = model.config, model.dtype, model.device

        def forward(self, input_ids, attention_mask, use_cache):
            return model(input_ids=input_ids, attention_mask=attention_mask, use_cache=use_cache)

    all_of_them = likelihood(All(), tokenizer, PROMPTS, CONTINUATIONS).log_likelihood
    assert all_of_them == pytest.approx(
        likelihood(model, tokenizer, PROMPTS, CONTINUATIONS).log_likelihood, rel=1e-6
    )


def test_who_knows_nothing_has_the_vocabulary_as_perplexity(tokenizer) -> None:
    model = decoder("gpt2")
    torch.nn.init.zeros_(model.get_output_embeddings().weight)
    result = likelihood(model, tokenizer, PROMPTS, CONTINUATIONS)
    assert result.perplexity == pytest.approx(VOCABULARY, rel=1e-6)
    assert result.perplexities == pytest.approx(np.full(len(PROMPTS), VOCABULARY), rel=1e-6)
    assert result.coherence == pytest.approx(-math.log(VOCABULARY), rel=1e-6)


def test_who_knows_the_alphabet() -> None:
    """A model made by hand: without layers, its head sees the letter before, and expects the next letter."""
    from transformers import GPT2Config, GPT2LMHeadModel

    _, tokenizer = byte_model()
    n, gain = 257, 0.5
    config = GPT2Config(
        vocab_size=n, n_embd=n, n_layer=0, n_head=1, n_positions=32, tie_word_embeddings=False
    )
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        model.transformer.wte.weight.copy_(torch.eye(n))
        model.transformer.wpe.weight.zero_()
        model.lm_head.weight.copy_(gain * torch.eye(n).roll(1, dims=0))  # row: the next letter
    deviation = math.sqrt((1 / n) * (1 - 1 / n) + config.layer_norm_epsilon)  # of a unit vector
    here, elsewhere = (gain * (x - 1 / n) / deviation for x in (1, 0))
    log_total = math.log(math.exp(here) + (n - 1) * math.exp(elsewhere))
    result = likelihood(model, tokenizer, ["a", "abc", "a", "x"], ["bcdefgh", "d", "zyx", "yza"])
    assert result.log_likelihood == pytest.approx(
        [
            7 * (here - log_total),
            here - log_total,
            3 * (elsewhere - log_total),
            2 * here + elsewhere - 3 * log_total,
        ],
        rel=1e-5,
    )
    assert result.tokens.tolist() == [7, 1, 3, 3]


@given(st.text(max_size=8), st.text(min_size=1, max_size=8))
@settings(max_examples=30)
def test_chain_rule(first: str, second: str) -> None:
    """P(first second) = P(first) P(second | first), where tokens are the bytes."""
    model, tokenizer = byte_model()
    whole = likelihood(model, tokenizer, None, [first + second]).log_likelihood[0]
    given_first = likelihood(model, tokenizer, [first], [second]).log_likelihood[0]
    before = likelihood(model, tokenizer, None, [first]).log_likelihood[0] if first else 0.0
    assert whole == pytest.approx(before + given_first, rel=1e-5)


def test_no_prompts_are_empty_prompts(model, tokenizer) -> None:
    without = likelihood(model, tokenizer, None, CONTINUATIONS)
    empty = likelihood(model, tokenizer, [""] * len(CONTINUATIONS), CONTINUATIONS)
    assert (without.log_likelihood == empty.log_likelihood).all()
    assert without.perplexity != likelihood(model, tokenizer, PROMPTS, CONTINUATIONS).perplexity


def test_the_start_token_is_bos_else_eos(model) -> None:
    with_bos = likelihood(model, tokenizer_with(bos="<s>", eos="</s>"), None, ["a man"])
    without = likelihood(model, tokenizer_with(eos="<s>", pad="</s>"), None, ["a man"])
    assert with_bos.log_likelihood == without.log_likelihood  # "<s>" is the same row of the embedding
    with pytest.raises(TextgamutError, match="neither a BOS nor an EOS token"):
        likelihood(model, tokenizer_with(pad="<pad>"), None, ["a man"])


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same weights with a tokenizer that adds BOS, and with one that does not."""
    folders = {}
    for kind in ("adds BOS", "adds none"):
        folders[kind] = tiny.write_checkpoint(tmp_path_factory.mktemp(kind.replace(" ", "-")))
        own = tiny.tokenizer()
        own.add_bos_token = kind == "adds BOS"
        own.save_pretrained(folders[kind])
    return folders


@pytest.mark.parametrize("bos", ["auto", "always", "never"])
@pytest.mark.parametrize("kind", ["adds BOS", "adds none"])
def test_the_input_is_that_of_generation(checkpoints: dict[str, Path], kind: str, bos: Bos) -> None:
    """A greedy text has the likelihood of one plain forward pass on the ids that its generator read."""
    folder = checkpoints[kind]
    model, tokenizer = (
        load_causal_model(folder, torch.float32, torch.device("cpu")),
        load_tokenizer(folder, bos),
    )
    starts = ["The president said", "Oil", "In a small town"]
    requests = [Request(start, 0, start, False) for start in starts]
    greedy = GreedyDecoding(strategy="greedy", max_new_tokens=12)
    [samples] = TransformersEngine(model, tokenizer, 8).generate(requests, greedy, 1)
    text = {sample["prompt_id"]: sample["continuation"] for sample in samples}
    found = likelihood(model, tokenizer, starts, [text[start] for start in starts])
    for request, value, count in zip(requests, found.log_likelihood, found.tokens, strict=True):
        read = encode(request, tokenizer)
        assert (read[0] == tokenizer.bos_token_id) == (bos == "always" or (bos, kind) == ("auto", "adds BOS"))
        written = tokenizer(text[request.text], add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            logits = model(torch.tensor([read + written])).logits[0, len(read) - 1 : -1]
        oracle = logits.log_softmax(dim=-1).gather(1, torch.tensor(written)[:, None]).sum()
        assert (value, count) == (pytest.approx(oracle.item(), rel=1e-5), len(written))


def test_what_nothing_precedes_begins_with_bos_all_the_same(checkpoints: dict[str, Path]) -> None:
    folder = checkpoints["adds BOS"]
    model = load_causal_model(folder, torch.float32, torch.device("cpu"))
    values = [
        likelihood(model, load_tokenizer(folder, bos), [prompt], ["a man"]).log_likelihood[0]
        for prompt in ("", "I am ")
        for bos in ("auto", "never")
    ]
    assert values[0] == values[1]
    assert values[2] != pytest.approx(values[3], rel=1e-3)


def test_special_tokens_in_a_text_are_plain_text(model, tokenizer) -> None:
    text = "a</s>"
    assert len(tokenizer(text, add_special_tokens=False)["input_ids"]) == 2
    assert likelihood(model, tokenizer, None, [text]).tokens[0] > 2


def test_long_texts_keep_the_end_of_the_prompt_and_the_beginning_of_the_rest() -> None:
    """One letter is one token here; the last token is predicted, not read, so BOS costs no room."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    _, tokenizer = byte_model()
    config = GPT2Config(vocab_size=257, n_embd=16, n_layer=1, n_head=2, n_positions=8, initializer_range=0.5)
    model = GPT2LMHeadModel(config).eval()
    prompts = ["abcdefgh", "abcdefgh", "ab", "", "abcd", "abcdefghijkl"]
    continuations = ["ABC", "ABCDEFGH", "ABCDEFGHIJ", "ABCDEFGHIJ", "ABCD", ""]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = likelihood(model, tokenizer, prompts, continuations)
    assert [str(one.message) for one in caught] == [
        "1 of 6 continuations have no token: left out of all means",
        "4 of 6 texts were cut to the 8 tokens that the model supports",
    ]
    assert all(one.filename == __file__ for one in caught)
    assert result.truncated == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitting = likelihood(
            model,
            tokenizer,
            ["defgh", "efgh", "ab", "", "abcd"],
            ["ABC", "ABCD", "ABCDEF", "ABCDEFGH", "ABCD"],
        )
    assert result.log_likelihood[:5] == pytest.approx(fitting.log_likelihood, rel=1e-6)
    assert (result.tokens[:5] == fitting.tokens).all()


def test_empty_continuations_have_no_part_in_any_mean(model, tokenizer) -> None:
    with pytest.warns(UserWarning, match="2 of 9 continuations have no token"):
        result = likelihood(model, tokenizer, [*PROMPTS, "a", ""], [*CONTINUATIONS, "", ""])
    assert (result.log_likelihood[-2:] == 0).all()
    assert (result.tokens[-2:] == 0).all()
    assert np.isnan(result.perplexities[-2:]).all()
    full = likelihood(model, tokenizer, PROMPTS, CONTINUATIONS)
    assert result.perplexity == pytest.approx(full.perplexity)
    assert result.coherence == pytest.approx(full.coherence)


@pytest.mark.parametrize("continuations", [[], ["", ""]])
def test_nothing_to_score(model, tokenizer, continuations: list[str]) -> None:
    with pytest.raises(TextgamutError, match=f"none of {len(continuations)} continuations has a token"):
        likelihood(model, tokenizer, None, continuations)


def test_as_many_prompts_as_continuations(model, tokenizer) -> None:
    with pytest.raises(TextgamutError, match="7 prompts, but 6 continuations"):
        likelihood(model, tokenizer, PROMPTS, CONTINUATIONS[1:])


def test_a_model_that_overflows_is_told(tokenizer) -> None:
    model = decoder("gpt2")
    torch.nn.init.constant_(model.get_output_embeddings().weight, math.inf)
    with pytest.raises(TextgamutError, match=r"text 0 is not finite \(7 such texts\)"):
        likelihood(model, tokenizer, PROMPTS, CONTINUATIONS)


def test_log_softmax_is_float32_in_a_bfloat16_model(tokenizer) -> None:
    """A bfloat16 number near 5.7 has steps of 1/32: equal logits would not give the vocabulary's size."""
    model = decoder("gpt2").to(torch.bfloat16)
    torch.nn.init.zeros_(model.get_output_embeddings().weight)
    result = likelihood(model, tokenizer, PROMPTS, CONTINUATIONS)
    assert result.perplexity == pytest.approx(VOCABULARY, rel=1e-6)


def test_means() -> None:
    result = Likelihood(np.array([-2.0, -12.0]), np.array([2, 4]), 0)
    assert result.perplexity == pytest.approx(math.exp(14 / 6))
    assert result.coherence == pytest.approx(-2)
    assert result.perplexities == pytest.approx([math.e, math.exp(3)])


@pytest.mark.slow
def test_a_real_model_prefers_text_to_noise(smollm2) -> None:
    model = load_causal_model(smollm2, torch.float32, torch.device("cpu"))
    tokenizer = load_tokenizer(smollm2)
    prompts = ["The capital of France is", "The capital of France is", "She opened the"]
    continuations = [" Paris, on the river Seine.", " tractor, on the green idea.", " door and went in."]
    result = likelihood(model, tokenizer, prompts, continuations)
    pairs = zip(prompts, continuations, strict=True)
    expected = [by_the_loss(model, tokenizer, *pair)[0] for pair in pairs]
    assert result.log_likelihood == pytest.approx(np.array(expected), rel=1e-5)
    assert result.perplexities[0] < 20 < 200 < result.perplexities[1]
    alone = [likelihood(model, tokenizer, [p], [c]) for p, c in zip(prompts, continuations, strict=True)]
    assert result.log_likelihood == pytest.approx(np.concatenate([a.log_likelihood for a in alone]), rel=1e-5)
