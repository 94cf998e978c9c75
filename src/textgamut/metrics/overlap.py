"""Texts that are on both sides of a comparison, or more than once on one side."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable

MOST_COPIES = 0.01
"""Share of the texts of a side that may occur more than once without a warning."""


def check_overlap(
    reference_texts: Iterable[str], generated_texts: Iterable[str], within: bool = False
) -> None:
    """Look for the same texts on both sides, but for white space. Empty texts do not count.

    Args:
        reference_texts: The references that are compared.
        generated_texts: The generated texts that are compared.
        within: Whether to look for copies within a side, too. Support metrics do so by themselves.

    Warns:
        UserWarning: If a generated text is also a reference or, with ``within``, more than 1 % of the texts
            of a side occur more than once.
    """
    sides = {
        "references": [" ".join(text.split()) for text in reference_texts],
        "generated texts": [" ".join(text.split()) for text in generated_texts],
    }
    references, generated = set(sides["references"]) - {""}, sides["generated texts"]
    if both := sum(text in references for text in generated):
        warnings.warn(
            f"{both:,} of {len(generated):,} generated texts ({both / len(generated):.1%}) are also among "
            "the references, which makes all comparisons with them too good",
            stacklevel=2,
        )
    for name, texts in sides.items() if within else ():
        copies = sum(count for text, count in Counter(texts).items() if count > 1 and text)
        if copies > MOST_COPIES * len(texts):
            warnings.warn(f"{copies:,} of {len(texts):,} {name} occur more than once", stacklevel=2)
