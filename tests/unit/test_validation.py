"""The arguments of the public functions: of every type, with the same result or an error that names them."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import tiny
import torch

import textgamut
from textgamut import TextgamutError
from textgamut.config.entries.embedders import Embedder
from textgamut.features.reduce import _normalise
from textgamut.models.checkpoints import load_causal_model, load_tokenizer
from textgamut.rankings.qtext import PAPER, QTextParameters

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # there are few texts

RNG = np.random.default_rng(0)
R, G = RNG.integers(-9, 9, (2, 40, 5)).astype(float)  # exact in float16 and bfloat16
R[:, 0], G[:, 0] = np.arange(1, 41), np.arange(2, 42)  # no row is zero
PROMPTS = ["p", "q"] * 20
TEXTS = ["the cat sat on the mat", "a dog ate the cat again", "the cat sat on a dog again"]
TOKENS = [[1, 1, 2, 1], [2, 1, 1, 2], [3, 1, 1, 2, 1]]
SCORES = RNG.integers(0, 9, (6, 3, 2)).astype(float)
ORDERS = textgamut.dominance_orders(SCORES)
WINS, TIES = np.array([[0, 3, 1], [2, 0, 2], [1, 4, 0]]), np.array([[0, 1, 2], [1, 0, 5], [2, 5, 0]])
CRITERIA = {"perplexity": [1.0, 2.0, 4.0], "coherence": [-1.0, -2.0, -4.0], "diversity": [0.5, 0.25, 0.75]}
LIMITS = [[1.0, 4.0], [-4.0, -1.0], [0.0, 1.0]]
SUPPORT = textgamut.support_metrics(R, G, 2)
PLAIN = {"reference_texts": TEXTS, "generated_texts": TEXTS[::-1], "metrics": ["ngram"]}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_checkpoint(tmp_path_factory.mktemp("checkpoint"), "gpt2")


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gate is quick with them."""
    for name in ("FIRST", "MOST", "SLOW_FIRST", "SLOW_MOST"):
        monkeypatch.setattr(f"textgamut.inference.resamples.{name}", 20)


def calls(folder: Path) -> dict[str, dict[str, Any]]:
    """Return a small valid call of each function, with all of its parameters."""
    sides = {"reference": R, "generated": G}
    completions = {"features": R, "prompts": PROMPTS}
    device = torch.device("cpu")
    entry = Embedder(
        label="x", source={"kind": "file", "path": str(folder)}, pooling="mean", max_tokens=32, batch_size=4
    )
    scored = PLAIN | {
        "embedder": str(folder), "pooling": "mean", "max_tokens": 32, "k": 1, "n": 2, "bootstrap": 2,
        "groups": None, "kmeans_seeds": [0, 1], "tokenizer": None, "scorer": None, "prompts": None,
        "clusters": None, "registries": None, "language": "en", "refusals": [],
    }  # fmt: skip
    own = ("metrics", "reference_texts", "generated_texts", "groups", "prompts", "clusters", "bootstrap")
    gated = {name: value for name, value in scored.items() if name not in own}
    return {
        "between_cosine": {"features_a": R, "prompts_a": PROMPTS, "features_b": G, "prompts_b": PROMPTS},
        "bootstrap_intervals": sides
        | {"result": SUPPORT, "replicates": 2, "level": 0.5, "seed": 1, "device": "cpu"},
        "compare": scored | {"generated_texts": {"a": TEXTS, "b": TEXTS[::-1]}},
        "compression_ratio": {"texts": TEXTS},
        "conditional_vendi": completions | {"q": 1.0},
        "cosine_matrix": {"sets": {"a": (R, PROMPTS), "b": (G, PROMPTS)}},
        "cut_to_words": {"texts": TEXTS, "words": 4, "language": "en"},
        "distinct_completions": completions | {"threshold": 0.5, "k": 2},
        "distinct_n": {"token_lists": TOKENS, "n": 2},
        "divergence_metrics": sides | {"clusters": 4, "seeds": [0], "explained_variance": 0.5},
        "diversity": {"texts": TEXTS, "language": "en"},
        "dominance_orders": {"oriented": SCORES},
        "effective_diversity": completions | {"passes": R[:, 0] > 3},
        "embed": {"texts": TEXTS, "folder": folder, "embedder": entry, "device": device},
        "expectation_adjusted_distinct": {"token_lists": TOKENS, "vocabulary": 9},
        "fit_bradley_terry": {"wins": WINS, "ties": TIES, "names": ["a", "b", "c"]},
        "frechet_distance": sides,
        "gate": gated
        | {
            "baseline": [f"{text} {row}" for row in range(3) for text in TEXTS],
            "candidate": [f"{row} {text}" for row in range(3) for text in TEXTS],
            "reference": [f"{text} {row} now" for row in range(3) for text in TEXTS],
            "margins": {"recall": 0.25}, "alpha": 0.125, "fail_on": [], "looks": 1, "group": None,
            "training": TEXTS, "layout": None, "n": 6,
        },
        "group_metrics": {"result": SUPPORT, "reference_groups": PROMPTS, "generated_groups": PROMPTS},
        "homogenization": {"texts": TEXTS, "pairs": 2, "seed": 1, "language": "en"},
        "likelihood": {
            "model": load_causal_model(folder, torch.float32, device),
            "tokenizer": load_tokenizer(folder),
            "prompts": TEXTS,
            "continuations": TEXTS[::-1],
            "batch_size": 2,
        },
        "load_config": {"path": Path(__file__).parents[2] / "config/demo.yaml", "registries": None},
        "mmd": sides | {"permutations": 3, "seed": 1},
        "ngram_diversity": {"token_lists": TOKENS, "n": 2},
        "pairwise_cosine": completions,
        "pareto_front": {"means": SCORES[0]},
        "q_text": CRITERIA | {"parameters": PAPER, "limits": LIMITS},
        "reduce_features": sides | {"explained_variance": 0.5, "device": "cpu"},
        "repetition_n": {"tokens": TOKENS[0], "n": 2},
        "score": scored,
        "self_bleu": {"token_lists": TOKENS, "n": 2, "sample": 0.5, "seed": 1},
        "self_repetition": {"token_lists": TOKENS, "n": 2},
        "support_metrics": sides | {"k": 2, "closed": False, "device": "cpu"},
        "support_sweep": sides | {"points": [(30, 2)], "closed": False, "device": "cpu"},
        "tune_q_text": CRITERIA
        | {"human_ratings": [1.0, 2.0, 3.0], "trials": 2, "seed": 1, "limits": LIMITS},
        "ufg_depth": {"orders": ORDERS, "resamples": np.ones((2, len(ORDERS)), int)},
        "unigram_entropy": {"token_lists": TOKENS},
        "vendi_score": {"features": R, "q": 1.0},
    }  # fmt: skip


def masked(array: Any) -> np.ma.MaskedArray:
    return np.ma.array(array, mask=np.arange(np.size(array)).reshape(np.shape(array)) == 0)


WRONG: dict[str, Callable[[], object]] = {
    "str": lambda: "nonesuch\0",
    "bytes": lambda: b"abc",
    "a negative number": lambda: -1,
    "a float": lambda: 1.5,
    "a huge integer": lambda: 10**30,
    "an integer of 5,000 digits": lambda: 10**5000,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "True": lambda: True,
    "NumPy's True": lambda: np.True_,
    "an empty list": list,
    "a list of None": lambda: [None] * 3,
    "a nested list": lambda: [[["x"]], [["y"]]],
    "a ragged list": lambda: [[1.0], [1.0, 2.0]],
    "a dictionary": lambda: {"x": 1},
    "a set": lambda: {1, 2},
    "a generator": lambda: (object() for _ in range(3)),
    "an object": object,
    "a class": lambda: str,
    "a function": lambda: len,
    "a complex number": lambda: 1j,
    "a complex array": lambda: R * 1j,
    "an array of strings": lambda: R.astype(str),
    "an array of objects": lambda: np.array([object()] * 3),
    "an empty array": lambda: np.empty((0, 0)),
    "a date": lambda: np.datetime64("2020-01-01"),
    "dates": lambda: np.arange(6).astype("M8[s]").reshape(3, 2),
    "durations": lambda: R.astype("m8[s]"),
    "a masked array": lambda: masked(R),
    "a masked number": lambda: np.ma.masked,
    "a sparse matrix": lambda: scipy.sparse.csr_array(R),
    "a sparse tensor": lambda: torch.tensor(R).to_sparse(),
    "a complex tensor": lambda: torch.tensor(R * 1j),
    "a tensor of one number": lambda: torch.tensor([2]),
    "a table of strings": lambda: pd.DataFrame({"a": ["x", "y"]}),
    "NA": lambda: pd.NA,
    "a series with NA": lambda: pd.Series([1, None, 3], dtype="Int64"),
    "a surrogate": lambda: ["\ud800", "b", "c"],
}
"""What is valid for no parameter, up to a few exceptions."""

VALUES = (
    "a ragged list",
    "a complex array",
    "an array of strings",
    "dates",
    "durations",
    "a sparse matrix",
    "a complex tensor",
)
VALID = {
    *itertools.product(["a huge integer"], ["seed", "q"]),
    *itertools.product(["a float"], ["q"]),
    *itertools.product(["a negative number"], ["threshold"]),
    *itertools.product(["a tensor of one number"], ["seeds", "kmeans_seeds", "tokens"]),
    *itertools.product(["True", "NumPy's True"], ["closed"]),
    *itertools.product(
        ["an empty list", "an empty array"], ["texts", "tokens", "training", "fail_on", "refusals"]
    ),
    *itertools.product(["a surrogate"], ["refusals"]),
    *itertools.product(["a surrogate"], ["tokens"]),
    *itertools.product(VALUES, ["token_lists"]),  # compared by value, whatever they are
    *itertools.product(
        ["a list of None", "a series with NA"],
        ["perplexity", "coherence", "diversity", "prompts", "clusters"],
    ),
}
"""What of this is valid after all."""


def plain(found: Any) -> Any:
    """Return a result as something that can be compared exactly."""
    if isinstance(found, np.ndarray):
        return found.tolist()
    if isinstance(found, dict):
        return {name: plain(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [plain(value) for value in found]
    if hasattr(found, "results"):
        return [result.rows for result in found.results.values()]
    if hasattr(found, "rows"):
        return found.rows
    if hasattr(found, "__dataclass_fields__"):
        return plain(vars(found))
    return found


def test_all_functions_are_called_with_all_parameters(checkpoint: Path) -> None:
    names = set(textgamut.__all__) - {"__version__", "TextgamutError"}
    table = calls(checkpoint)
    assert set(table) == names
    for name, given in table.items():
        assert set(given) == set(inspect.signature(getattr(textgamut, name)).parameters), name
        assert repr(plain(getattr(textgamut, name)(**given)))


NONE = {
    "n",
    "device", "limits", "clusters", "k", "sample", "groups", "prompts", "pooling", "tokenizer", "scorer",
    "registries", "reference", "training", "margins", "group", "layout", "resamples",
}  # fmt: skip
"""Parameters that may be None in some function."""


@pytest.mark.parametrize("name", sorted(set(textgamut.__all__) - {"__version__", "TextgamutError"}))
def test_wrong_types_are_errors_that_name_the_parameter(name: str, checkpoint: Path) -> None:
    given = calls(checkpoint)[name]
    function = getattr(textgamut, name)
    wrong = WRONG | {"None": lambda: None}
    problems = []
    for parameter in given:
        for what, make in wrong.items():
            if (what, parameter) in VALID or (what == "None" and parameter in NONE):
                continue
            try:
                found = function(**(given | {parameter: make()}))
            except TextgamutError as error:
                if parameter.removesuffix("_texts") not in str(error):
                    problems.append(f"{parameter} = {what}: {error}")
            except Exception as error:
                problems.append(f"{parameter} = {what}: {type(error).__name__}: {error}")
            else:
                problems.append(f"{parameter} = {what}: {str(found)[:80]}")
    assert not problems, "\n".join(problems)


def forms_of(value: Any) -> dict[str, Any]:
    """Return the same value in other forms."""
    if isinstance(value, bool):
        return {"NumPy": np.bool_(value), "torch": torch.tensor(value)}
    if isinstance(value, int):
        kinds = (np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64)
        return {kind.__name__: kind(value) for kind in kinds} | {
            "0-d": np.array(value, np.int8), "torch": torch.tensor(value, dtype=torch.int8),
        }  # fmt: skip
    if isinstance(value, float):
        return {
            "half": np.float16(value),
            "single": np.float32(value),
            "long": np.longdouble(value),
            "0-d": np.array(value),
            "bfloat16": torch.tensor(value, dtype=torch.bfloat16),
            "gradient": torch.tensor(value, requires_grad=True),
        }
    if isinstance(value, np.ndarray):
        return forms_of_array(value)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return {
            "tuple": tuple(value),
            "array": np.array(value),
            "objects": np.array(value, dtype=object),
            "series": pd.Series(value, index=range(9, 9 + len(value))),
            "generator": (each for each in value),
            "dictionary's values": dict(enumerate(value)).values(),
        }
    if isinstance(value, list) and value and isinstance(value[0], float):
        return forms_of_array(np.array(value)) | {"series": pd.Series(value, dtype="Float64")}
    return {}


def forms_of_array(value: np.ndarray) -> dict[str, Any]:
    forms: dict[str, Any] = {
        "lists": value.tolist(),
        "masked nowhere": np.ma.array(value, mask=False),
        "torch": torch.tensor(value),
        "tensors": [torch.tensor(row) for row in value],
        "fortran": np.asfortranarray(value),
    }
    if value.dtype != bool:
        numbers = value.astype(float)
        forms |= {
            "gradient": torch.tensor(numbers, requires_grad=True),
            "gradients": [torch.tensor(row, requires_grad=True) for row in numbers],
            "objects": numbers.astype(object),
            "big-endian": numbers.astype(">f8"),
        }
    if value.ndim == 2:
        forms |= {"table": pd.DataFrame(value), "nullable": pd.DataFrame(value).convert_dtypes()}
    return forms


@pytest.mark.parametrize("name", sorted(set(textgamut.__all__) - {"__version__", "TextgamutError"}))
def test_other_forms_of_a_value_are_the_value(name: str, checkpoint: Path) -> None:
    given = calls(checkpoint)[name]
    function = getattr(textgamut, name)
    expected = repr(plain(function(**given)))
    for parameter, value in given.items():
        for form, other in forms_of(value).items():
            found = repr(plain(function(**(given | {parameter: other}))))
            assert found == expected, f"{parameter} as {form}: {other!r}"


def token_forms(lists: list[list[int]]) -> dict[str, Any]:
    return {
        "arrays": [np.array(tokens, dtype=np.int16) for tokens in lists],
        "tensors": [torch.tensor(tokens) for tokens in lists],
        "scalars of torch": [list(torch.tensor(tokens)) for tokens in lists],
        "scalars of NumPy": [list(np.array(tokens)) for tokens in lists],
        "0-d arrays": [[np.array(token) for token in tokens] for tokens in lists],
        "series": [pd.Series(tokens) for tokens in lists],
        "tuples": tuple(map(tuple, lists)),
        "generators": (iter(tokens) for tokens in lists),
    }


@pytest.mark.parametrize(
    "call",
    [
        lambda lists: textgamut.distinct_n(lists, 2),
        textgamut.unigram_entropy,
        lambda lists: [textgamut.repetition_n(tokens, 2) for tokens in lists],
        lambda lists: textgamut.ngram_diversity(lists, 2),
        lambda lists: textgamut.expectation_adjusted_distinct(lists, 9),
        lambda lists: textgamut.self_bleu(lists, 2),
        lambda lists: textgamut.self_repetition(lists, 2),
    ],
)
def test_tokens_are_compared_by_value(call) -> None:
    expected = call(TOKENS)
    for form, tokens in token_forms(TOKENS).items():
        assert call(tokens) == expected, form


def test_prompts_are_compared_by_value() -> None:
    numbers = [0, 1] * 20
    expected = textgamut.pairwise_cosine(R, numbers)
    for form, prompts in token_forms([numbers]).items():
        assert textgamut.pairwise_cosine(R, next(iter(prompts))) == expected, form


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (
            [[float("nan")]],
            "token_lists: text 0: element 0 of the tokens: must be a string, a number or another",
        ),
        ([[object()]], "found object"),
        ([["a", None]], "element 1 of the tokens: .* found None"),
        ([[["a"]]], "found list"),
        ([{"a", "b"}], "text 0: expected a list of tokens, found set"),
        (["abc"], "text 0: expected a list of tokens, found .abc. .str."),
    ],
)
def test_what_has_no_value_is_no_token(tokens: Any, message: str) -> None:
    with pytest.raises(TextgamutError, match=message):
        textgamut.distinct_n(tokens, 1)


@pytest.mark.parametrize("scale", [1e-170, 1e-300, 1e160, 1e300, 5e-324])
def test_features_of_any_scale_are_reduced_as_at_another(scale: float) -> None:
    expected = textgamut.reduce_features(R, G)
    found = textgamut.reduce_features(R * scale, G * scale)
    for side, other in zip(found, expected, strict=True):
        assert np.abs(side - other).max() < 1e-6
    assert textgamut.support_metrics(*found, 4).precision == textgamut.support_metrics(*expected, 4).precision


def test_rows_of_different_scales_are_normalised_each() -> None:
    scales = 10.0 ** np.linspace(-300, 300, len(R))[:, None]
    for side, other in zip(
        textgamut.reduce_features(R * scales, G), textgamut.reduce_features(R, G), strict=True
    ):
        assert np.abs(side - other).max() < 1e-6


def test_ordinary_features_keep_their_last_bit() -> None:
    rows = np.vstack([R, G]) + 0.1
    units = rows / np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    block = rows.copy()
    _normalise(block)
    assert (block == units).all()


@pytest.mark.parametrize(
    "limits",
    [[[4, 1], [-4, -1], [0, 1]], [[1, 4], [-1, -1], [0, 1]], [[1, np.nan], [-4, -1], [0, 1]], [[0, 1]]],
)
def test_limits_that_are_reversed_or_missing_are_refused(limits: list) -> None:
    given: dict[str, Any] = CRITERIA | {"limits": limits}
    with pytest.raises(TextgamutError, match="limits: "):
        textgamut.q_text(**given)
    with pytest.raises(TextgamutError, match="limits: "):
        textgamut.tune_q_text(**given, human_ratings=[1, 2, 3], trials=1)


def test_paths_and_titles_of_pages_are_checked(tmp_path: Path) -> None:
    result = textgamut.score(**PLAIN)
    for path in (None, 3, b"page.html", "", "a\0b"):
        with pytest.raises(TextgamutError, match="path: must be the path"):
            result.to_html(path)
    for title in (None, 3, "\ud800"):
        with pytest.raises(TextgamutError, match="title: "):
            result.to_html(tmp_path / "page.html", title)
    assert not list(tmp_path.iterdir())


def test_parameters_of_q_text_are_numbers() -> None:
    triple = (1, 1, 1)
    for wrong in (None, "abc", [1, 2], {"a": 1}, [1, 2, None], [1, 2, 1j], object()):
        with pytest.raises(TextgamutError, match=r"weights of Q\*Text: "):
            QTextParameters(wrong, triple, triple)
    assert QTextParameters(np.ones(3), torch.ones(3), [1, 1, 1]) == QTextParameters(triple, triple, triple)
