"""The datasets of the sanity checks, ``make sanity``, with the sizes and topics of the checks on each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MULTILINGUAL = "multilingual-e5-small-q4"


@dataclass(frozen=True, kw_only=True)
class CheckedCorpus:
    """How passages are made of a dataset, and what is drawn from them.

    The perfect model writes about ``main``; a model lacks or invents ``mode``; a wholly wrong one writes
    about all topics but ``main``.
    """

    main: tuple[str, ...]
    mode: tuple[str, ...]
    others: bool = False
    """Whether texts of other topics, and of none, are used, too."""
    words: int = 30
    """Number of words of a passage."""
    passages: int = 1200
    """Largest number of passages, as most of the time is that of the embedding."""
    n: int = 200
    """Number of texts on each side."""
    sizes: tuple[int, ...] = (50, 200, 600)
    """Numbers of texts of the checks of sample size."""
    dimensions: tuple[int, ...] = (32,)
    """Dimensions of projected features."""
    repeats: int = 4
    """Number of draws."""
    embedder: str = MULTILINGUAL

    @property
    def topics(self) -> list[str] | None:
        """The topics whose texts are used; None for all."""
        return None if self.others else [*self.main, *self.mode]

    def design(self) -> dict[str, Any]:
        """Return the fields of ``metrics.sanity.corpus.Design``, as they are written to a job's record."""
        lists = {name: list(getattr(self, name)) for name in ("main", "mode", "sizes", "dimensions")}
        return {"n": self.n, "repeats": self.repeats, "seed": 0, **lists}


CHECKED: dict[str, CheckedCorpus] = {
    "news-articles": CheckedCorpus(
        embedder="minilm",
        main=("politics", "world"),
        mode=("sport", "health"),  # no other topic alone has enough passages
        others=True,
        words=50,
        passages=22_000,
        n=1000,
        sizes=(100, 300, 1000, 3000, 10_000),
        dimensions=(8, 32, 128),
        repeats=5,
    ),
    "ag-news-test": CheckedCorpus(
        embedder="minilm",
        main=("world", "business"),
        mode=("sport",),
        others=True,
        passages=7600,  # four of five items have 30 words
        n=1000,
        sizes=(100, 300, 1000, 3000),
        dimensions=(8, 32, 128),
        repeats=5,
    ),
    "corpus-ar": CheckedCorpus(
        main=(
            "Military Expeditions led by the Prophet (pbuh) (Al-Maghaazi)",
            "Prophetic Commentary on the Qur'an (Tafseer of the Prophet (pbuh))",
        ),
        mode=("Call to Prayers (Adhaan)",),
    ),
    "corpus-de": CheckedCorpus(main=("CDU/CSU", "SPD"), mode=("chair",)),
    "corpus-el": CheckedCorpus(main=("iliad",), mode=("odyssey",)),
    "corpus-es": CheckedCorpus(main=("GPP", "GPSOE"), mode=("chair",), words=20),
    "corpus-fa": CheckedCorpus(main=("ghazal",), mode=("divination",)),
    "corpus-he": CheckedCorpus(main=("Nashim", "Nezikin"), mode=("Tohorot",)),
    "corpus-pt": CheckedCorpus(main=("news", "petroleum"), mode=("vaccines",)),
    "corpus-uk": CheckedCorpus(main=("Технічна",), mode=("Гуманітарна",)),
    "corpus-zh": CheckedCorpus(main=("民法商法", "经济法"), mode=("诉讼与非诉讼程序法",)),
}
"""Dataset -> its corpus. ``make sanity LANGUAGE=pt`` checks ``corpus-pt``."""

ENGLISH = tuple(dataset for dataset in CHECKED if not dataset.startswith("corpus-"))
"""The datasets on which samplers that cheat are planted: those whose language the models below know."""
GENERATOR = "smollm2-135m-instruct-plain"
"""The model that writes at a low temperature."""
SCORER = "gemma-3-270m"
"""The model that scores all texts: another one, which need not prefer its own."""
CHEATS: dict[str, int] = {"words": 30, "prompt_words": 10, "n": 100, "repeats": 10, "seed": 0}
"""Sizes of the check, see the script check_cheats: most of the time is that of the two models."""
COLD: dict[str, Any] = {
    "strategy": "sampling",
    "temperature": 0.3,
    "min_new_tokens": 36,  # enough for 20 words
    "max_new_tokens": 36,
}
"""The decoding setting of the low temperature."""
