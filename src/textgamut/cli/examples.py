"""Examples of the commands, for ``--help`` and the documentation."""

from __future__ import annotations

EXAMPLES = {
    "score": (
        "textgamut score --reference human.jsonl --generated model.jsonl",
        "textgamut score --reference human.csv --generated a.csv b.csv --output out",
    ),
    "gate": (
        "textgamut gate --baseline old.jsonl --candidate new.jsonl",
        "textgamut gate --baseline old.baseline --candidate new.jsonl --output gate",
    ),
    "rank": (
        "textgamut rank scores.csv --higher coherence diversity --lower perplexity",
        "textgamut rank scores.csv --higher quality --method model --output ranking",
    ),
    "new": (
        "textgamut new study --reference human.jsonl --hub openai-community/gpt2",
        "textgamut new study --reference human.jsonl --generated a.jsonl b.jsonl",
    ),
    "plan": (
        "textgamut plan pr table_1",
        "textgamut plan --detect recall=0.05 --power 0.9",
    ),
    "papers": (
        "textgamut papers pr",
        "textgamut papers pr table_1a --partial",
    ),
    "export prompts": (
        "textgamut export prompts --task news --model smollm2-135m --output batch.jsonl",
        "textgamut export prompts mine.yaml --task news --model m --output batch.jsonl",
    ),
    "export texts": (
        "textgamut export texts --output hub",
        "textgamut export texts pr --task webtext --output hub",
    ),
    "export embedding-atlas": (
        "textgamut export embedding-atlas --task news --output news.parquet",
        "textgamut export embedding-atlas pr --task webtext --output webtext.parquet",
    ),
    "doctor": (
        "textgamut doctor",
        "textgamut doctor --offline --json",
    ),
}
"""Command -> what to type, at most 78 characters, which fit a terminal."""


def epilogue(command: str) -> str:
    """Return the examples of a command as Markdown."""
    return "\n    ".join(("Examples:\n", *EXAMPLES[command]))
