"""Names of the methods of MC as its tables print them, and the way back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from textgamut.config.entries.decoding import (
    BeamDecoding,
    ContrastiveSearchDecoding,
    Decoding,
    SamplingDecoding,
    hyperparameters_of,
    kind_of,
    parse_decoding,
)
from textgamut.errors import DataError

STRATEGIES = {
    "beam": "beam",
    "contrastive-search": "CS",
    "temperature": "temp",
    "top-k": "topk",
    "top-p": "topp",
}
"""Kind of decoding -> label."""

DIFFERENT_LLAMA = ("table_4", "table_13")
"""Tables that print "Llama 3" for "LLama 3"."""


def bare_name(method: str) -> str:
    """Return the name of a method as Tables 8 to 11 and the authors' ranking file have it."""
    return method.replace(", ", "_").translate(str.maketrans("", "", " -\\'()"))


class MethodLabels(NamedTuple):
    """Labels of a method: a model with a decoding."""

    model: str
    """Tables 12 and 13, such as ``Mistral 3``."""
    strategy: str
    """Tables 14 and 15, such as ``CS``."""
    hyperparameters: str
    """Tables 16 and 17, such as ``('0.6', '15')``; equal values of different strategies share a label."""

    @property
    def decoding(self) -> str:
        """Both together, such as ``CS (('0.6', '15'))``."""
        return f"{self.strategy} ({self.hyperparameters})" if self.hyperparameters else self.strategy

    def method(self, table: str) -> str:
        """Return the name of the method in a table.

        Args:
            table: ``table_4``: ``Mistral 3 CS (0.6, 15)``. ``table_8`` to ``table_11``:
                ``Mistral3CS0.6_15``. ``table_18`` and ``table_19``: ``Mistral 3_CS (('0.6', '15'))``. Others:
                ``Mistral 3 CS (('0.6', '15'))``.
        """
        if table in ("table_8", "table_9", "table_10", "table_11"):
            return bare_name(f"{self.model}{self.decoding}")
        if table in ("table_18", "table_19"):
            return f"{self.model}_{self.decoding}"
        name = f"{self.model} {self.decoding}"
        return name.replace("((", "(").replace("))", ")").replace("'", "") if table == "table_4" else name


def method_labels(model: str, decoding: Mapping[str, Any], table: str) -> MethodLabels:
    """Return the labels of a method in a table of the paper.

    Args:
        model: Label of the model, such as ``Mistral 3``.
        decoding: Its decoding settings, as plain data. Settings that the paper does not have, such as
            penalties or several restrictions of sampling at once, keep the names of textgamut.
        table: Name of the table, such as ``table_16``; the tables spell one model differently.
    """
    if table in DIFFERENT_LLAMA:
        model = model.replace("LLama", "Llama")
    settings = parse_decoding(decoding)
    hyperparameters = _hyperparameters(settings)
    if hyperparameters is None:
        own = hyperparameters_of(settings)
        return MethodLabels(model, kind_of(settings), "" if own == "none" else own)
    return MethodLabels(model, STRATEGIES[kind_of(settings)], hyperparameters)


def methods_by_label(
    methods: Iterable[tuple[str, str]],
    models: Mapping[str, str],
    decodings: Mapping[str, Mapping[str, Any]],
    table: str,
) -> dict[str, tuple[str, str]]:
    """Map the names of methods in a table of the paper to the methods.

    Args:
        methods: Pairs of model and decoding, as slugs.
        models: Slug -> label.
        decodings: Slug -> settings, as plain data.
        table: As for :meth:`MethodLabels.method`.

    Returns:
        Name -> (model, decoding), in the order of the methods.

    Raises:
        TextgamutError: If two methods have the same name.
    """
    named: dict[str, tuple[str, str]] = {}
    for model, decoding in methods:
        name = method_labels(models[model], decodings[decoding], table).method(table)
        if name in named:
            first = ", ".join(named[name])
            raise DataError(f"{first} and {model}, {decoding} have the same name in the paper: {name!r}")
        named[name] = model, decoding
    return named


def _hyperparameters(decoding: Decoding) -> str | None:
    """Return the label of the paper; None if there is none for these settings."""
    if isinstance(decoding, BeamDecoding):
        return str(decoding.beams)
    if isinstance(decoding, ContrastiveSearchDecoding):
        return f"('{decoding.alpha}', '{decoding.k}')"
    kind = kind_of(decoding)
    if not isinstance(decoding, SamplingDecoding) or kind not in STRATEGIES:
        return None
    name = kind.replace("-", "_")
    if hyperparameters_of(decoding) != f"{name} {getattr(decoding, name)}":
        return None  # with a penalty
    return f"{getattr(decoding, name):g}"
