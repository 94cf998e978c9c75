"""SPARQL 1.1 queries to Wikidata or a compatible service."""

from __future__ import annotations

from typing import Any

from textgamut.sources.answers import Answers
from textgamut.sources.http import TransientError

PREFIXES = """\
PREFIX wd: <http://www.wikidata.org/entity/>
PREFIX wdt: <http://www.wikidata.org/prop/direct/>
PREFIX p: <http://www.wikidata.org/prop/>
PREFIX psv: <http://www.wikidata.org/prop/statement/value/>
PREFIX wikibase: <http://wikiba.se/ontology#>
PREFIX schema: <http://schema.org/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
"""
ENTITY = "http://www.wikidata.org/entity/"
ACCEPT = "application/sparql-results+json"


def select(answers: Answers, query: str) -> list[dict[str, str]]:
    """Return the rows of a SELECT query: variable -> value, with entities as ``Q42``.

    Args:
        answers: The endpoint.
        query: The query without prefixes.

    Raises:
        TextgamutError: If the endpoint refuses the query or does not answer.
    """
    answer = answers.ask({"query": PREFIXES + query}, _check, post=True)
    return [
        {name: cell["value"].removeprefix(ENTITY) for name, cell in row.items()}
        for row in answer["results"]["bindings"]
    ]


def literal(text: str, language: str) -> str:
    """Return a text as a SPARQL literal with a language tag."""
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(plain, escaped)
    return f'"{text}"@{language}'


def _check(answer: Any, _headers: Any) -> None:
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, dict) or not isinstance(results.get("bindings"), list):
        raise TransientError("not a SPARQL result")
