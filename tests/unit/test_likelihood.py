"""Likelihood: equal to the models' own loss text by text, to what is known without a model, in any batch."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from textgamut.errors import TextgamutError
from textgamut.metrics import likelihood as module
from textgamut.metrics.likelihood import Likelihood, likelihood

CONTEXT = 48
PROMPTS = ["Stocks fell on", "", "The president said that the", "ünïcödé", "A", "Goal", "x" * 20]
CONTINUATIONS = [" Monday, and rose", "A text without a prompt.", " law", " 日本語", " man", "!", "y"]


def tokenizer_with(**special: str):
    """A byte-level tokenizer."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=sorted(set(special.values())),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(["Stocks fell on Monday, and rose. The man said that."], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


TOKENIZER = tokenizer_with(bos_token="<s>", eos_token="</s>")


def decoder(kind: str):
    """A small random model: learned positions, or rotary ones with the logits squashed at the end."""
    from transformers import Gemma2Config, Gemma2ForCausalLM, GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    if kind == "gpt2":
        config = GPT2Config(
            vocab_size=len(TOKENIZER), n_embd=16, n_layer=2, n_head=2, n_positions=CONTEXT,
            initializer_range=0.5,
        )  # fmt: skip
        return GPT2LMHeadModel(config).eval()
    config = Gemma2Config(
        vocab_size=len(TOKENIZER), hidden_size=16, intermediate_size=32, num_hidden_layers=2, head_dim=8,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=CONTEXT, sliding_window=16,
        final_logit_softcapping=5.0, initializer_range=0.5,
    )  # fmt: skip
    return Gemma2ForCausalLM(config).eval()


@pytest.fixture(scope="module")
def model():
    return decoder("gpt2")


def by_the_loss(model, tokenizer, prompt: str, continuation: str) -> tuple[float, int]:
    """Log-likelihood and number of tokens from the loss that the model itself computes, of one text."""
    plain = {"add_special_tokens": False, "split_special_tokens": True}
    head = [tokenizer.bos_token_id, *tokenizer(prompt, **plain)["input_ids"]]
    tail = tokenizer(continuation, **plain)["input_ids"]
    labels = torch.tensor([[-100] * len(head) + tail])
    with torch.no_grad():
        loss = model(torch.tensor([head + tail]), labels=labels).loss
    return -loss.item() * len(tail), len(tail)


@pytest.mark.parametrize("kind", ["gpt2", "gemma2"])
@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_equals_the_loss_text_by_text(kind: str, batch_size: int) -> None:
    model = decoder(kind)
    result = likelihood(model, TOKENIZER, PROMPTS, CONTINUATIONS, batch_size)
    pairs = zip(PROMPTS, CONTINUATIONS, strict=True)
    expected = np.array([by_the_loss(model, TOKENIZER, *pair) for pair in pairs])
    assert result.log_likelihood == pytest.approx(expected[:, 0], rel=1e-5)
    assert (result.tokens == expected[:, 1]).all()
    assert result.perplexity == pytest.approx(math.exp(-expected[:, 0].sum() / expected[:, 1].sum()))
    assert result.coherence == pytest.approx((expected[:, 0] / expected[:, 1]).mean())
    assert result.perplexities == pytest.approx(np.exp(-expected[:, 0] / expected[:, 1]))
    assert result.truncated == 0


@pytest.mark.parametrize("kind", ["gpt2", "gemma2"])
def test_batch_size_and_order_do_not_matter(kind: str) -> None:
    model = decoder(kind)
    whole = likelihood(model, TOKENIZER, PROMPTS, CONTINUATIONS, 64).log_likelihood
    for batch_size in (1, 2, 3):
        other = likelihood(model, TOKENIZER, PROMPTS[::-1], CONTINUATIONS[::-1], batch_size)
        assert other.log_likelihood[::-1] == pytest.approx(whole, rel=1e-5)


def test_a_small_bound_on_the_logits_changes_nothing(model, monkeypatch) -> None:
    whole = likelihood(model, TOKENIZER, PROMPTS, CONTINUATIONS).log_likelihood
    sizes: list[int] = []
    score = module._score
    monkeypatch.setattr(module, "_score", lambda *batch: (sizes.append(len(batch[1])), score(*batch))[1])
    monkeypatch.setattr(module, "LOGITS_BYTES", 4 * len(TOKENIZER) * 50)  # fifty tokens
    assert likelihood(model, TOKENIZER, PROMPTS, CONTINUATIONS).log_likelihood == pytest.approx(whole, rel=1e-5)
    assert len(set(sizes)) > 1
    monkeypatch.setattr(module, "LOGITS_BYTES", 0)
    likelihood(model, TOKENIZER, PROMPTS, CONTINUATIONS)
    assert sizes[-len(PROMPTS) :] == [1] * len(PROMPTS)


def test_a_model_that_gives_all_its_logits(model) -> None:
    class All(torch.nn.Module):
        config, dtype, device = model.config, model.dtype, model.device

        def forward(self, input_ids, attention_mask, use_cache):
            return model(input_ids=input_ids, attention_mask=attention_mask, use_cache=use_cache)

    all_of_them = likelihood(All(), TOKENIZER, PROMPTS, CONTINUATIONS).log_likelihood
    assert all_of_them == pytest.approx(
        likelihood(model, TOKENIZER, PROMPTS, CONTINUATIONS).log_likelihood, rel=1e-6
    )


def test_who_knows_nothing_has_the_vocabulary_as_perplexity() -> None:
    model = decoder("gpt2")
    torch.nn.init.zeros_(model.get_output_embeddings().weight)
    result = likelihood(model, TOKENIZER, PROMPTS, CONTINUATIONS)
    assert result.perplexity == pytest.approx(len(TOKENIZER), rel=1e-6)
    assert result.perplexities == pytest.approx(np.full(len(PROMPTS), len(TOKENIZER)), rel=1e-6)
    assert result.coherence == pytest.approx(-math.log(len(TOKENIZER)), rel=1e-6)


def test_who_expects_the_text_finds_it_likely() -> None:
    """Direction: after learning one text, its perplexity is near 1, and that of others above."""
    model = decoder("gpt2")
    ids = torch.tensor(
        [[TOKENIZER.bos_token_id, *TOKENIZER("The man fell.", add_special_tokens=False)["input_ids"]]]
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        model(ids, labels=ids).loss.backward()
        optimizer.step()
    known, other = likelihood(model, TOKENIZER, None, ["The man fell.", "Monday rose."]).perplexities
    assert 1 <= known < 1.1 < 10 < other


@given(st.text(max_size=8), st.text(min_size=1, max_size=8))
@settings(max_examples=30, deadline=None)
def test_chain_rule(first: str, second: str) -> None:
    """P(first second) = P(first) P(second | first), where tokens are the bytes."""
    model, tokenizer = BYTES
    whole = likelihood(model, tokenizer, None, [first + second]).log_likelihood[0]
    given_first = likelihood(model, tokenizer, [first], [second]).log_likelihood[0]
    before = likelihood(model, tokenizer, None, [first]).log_likelihood[0] if first else 0.0
    assert whole == pytest.approx(before + given_first, rel=1e-5)


def _bytes():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    alphabet = ["<s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    backend = Tokenizer(models.BPE({character: i for i, character in enumerate(alphabet)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=257, n_embd=16, n_layer=1, n_head=2, n_positions=128, initializer_range=0.5
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="<s>")
    return GPT2LMHeadModel(config).eval(), tokenizer


BYTES = _bytes()


def test_no_prompts_are_empty_prompts(model) -> None:
    without = likelihood(model, TOKENIZER, None, CONTINUATIONS)
    empty = likelihood(model, TOKENIZER, [""] * len(CONTINUATIONS), CONTINUATIONS)
    assert (without.log_likelihood == empty.log_likelihood).all()
    assert without.perplexity != likelihood(model, TOKENIZER, PROMPTS, CONTINUATIONS).perplexity


def test_the_start_token_is_bos_else_eos(model) -> None:
    with_bos = likelihood(model, tokenizer_with(bos_token="<s>", eos_token="</s>"), None, ["a man"])
    without = likelihood(model, tokenizer_with(eos_token="<s>", pad_token="</s>"), None, ["a man"])
    assert with_bos.log_likelihood == without.log_likelihood  # "<s>" is the same row of the embedding
    with pytest.raises(TextgamutError, match="neither a BOS nor an EOS token"):
        likelihood(model, tokenizer_with(pad_token="<pad>"), None, ["a man"])


def test_special_tokens_in_a_text_are_plain_text(model) -> None:
    text = "a</s>"
    assert len(TOKENIZER(text, add_special_tokens=False)["input_ids"]) == 2
    assert likelihood(model, TOKENIZER, None, [text]).tokens[0] > 2


def test_long_texts_keep_the_end_of_the_prompt_and_the_beginning_of_the_rest() -> None:
    """One letter is one token here; the last token is predicted, not read, so BOS costs no room."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    _, tokenizer = BYTES
    config = GPT2Config(vocab_size=257, n_embd=16, n_layer=1, n_head=2, n_positions=8, initializer_range=0.5)
    model = GPT2LMHeadModel(config).eval()
    prompts = ["abcdefgh", "abcdefgh", "ab", "", "abcd", "abcdefghijkl"]
    continuations = ["ABC", "ABCDEFGH", "ABCDEFGHIJ", "ABCDEFGHIJ", "ABCD", ""]
    with pytest.warns(UserWarning) as caught:
        result = likelihood(model, tokenizer, prompts, continuations)
    assert [str(one.message) for one in caught] == [
        "1 of 6 continuations have no token: no part in any mean",
        "4 of 6 texts were cut to the model's context of 8 tokens",
    ]
    assert all(one.filename == __file__ for one in caught)
    assert result.truncated == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitting = likelihood(
            model, tokenizer, ["defgh", "efgh", "ab", "", "abcd"], ["ABC", "ABCD", "ABCDEF", "ABCDEFGH", "ABCD"]
        )
    assert result.log_likelihood[:5] == pytest.approx(fitting.log_likelihood, rel=1e-6)
    assert (result.tokens[:5] == fitting.tokens).all()


def test_empty_continuations_have_no_part_in_any_mean(model) -> None:
    with pytest.warns(UserWarning, match="2 of 9 continuations have no token"):
        result = likelihood(model, TOKENIZER, [*PROMPTS, "a", ""], [*CONTINUATIONS, "", ""])
    assert (result.log_likelihood[-2:] == 0).all()
    assert (result.tokens[-2:] == 0).all()
    assert np.isnan(result.perplexities[-2:]).all()
    full = likelihood(model, TOKENIZER, PROMPTS, CONTINUATIONS)
    assert result.perplexity == pytest.approx(full.perplexity)
    assert result.coherence == pytest.approx(full.coherence)


@pytest.mark.parametrize("continuations", [[], ["", ""]])
def test_nothing_to_score(model, continuations: list[str]) -> None:
    with pytest.raises(TextgamutError, match=f"none of {len(continuations)} continuations has a token"):
        likelihood(model, TOKENIZER, None, continuations)


def test_as_many_prompts_as_continuations(model) -> None:
    with pytest.raises(TextgamutError, match="7 prompts, but 6 continuations"):
        likelihood(model, TOKENIZER, PROMPTS, CONTINUATIONS[1:])


def test_a_model_that_overflows_is_told() -> None:
    model = decoder("gpt2")
    torch.nn.init.constant_(model.get_output_embeddings().weight, math.inf)
    with pytest.raises(TextgamutError, match=r"text 0 is not finite \(7 such texts\)"):
        likelihood(model, TOKENIZER, PROMPTS, CONTINUATIONS)


def test_log_softmax_is_float32_in_a_bfloat16_model() -> None:
    """A bfloat16 number near 5.7 has steps of 1/32: equal logits would not give the vocabulary's size."""
    model = decoder("gpt2").to(torch.bfloat16)
    torch.nn.init.zeros_(model.get_output_embeddings().weight)
    result = likelihood(model, TOKENIZER, PROMPTS, CONTINUATIONS)
    assert result.perplexity == pytest.approx(len(TOKENIZER), rel=1e-6)


def test_means() -> None:
    result = Likelihood(np.array([-2.0, -12.0]), np.array([2, 4]), 0)
    assert result.perplexity == pytest.approx(math.exp(14 / 6))
    assert result.coherence == pytest.approx(-2)
    assert result.perplexities == pytest.approx([math.e, math.exp(3)])


@pytest.mark.slow
def test_a_real_model_prefers_text_to_noise(smollm2) -> None:
    from textgamut.generation.checkpoints import load_causal_model, load_tokenizer

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
