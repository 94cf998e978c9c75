"""SPARQL 1.1 queries to Wikidata or a compatible service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textgamut.sources.http import TransientError
from textgamut.sources.json_requests import Answer, Answers, Text, checked

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


class _Cell(Answer):
    value: Text


class _Results(Answer):
    bindings: list[dict[str, _Cell]]


class _Answer(Answer):
    results: _Results


def select(answers: Answers, query: str, always: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of a SELECT query: variable -> value, with entities as ``Q42``.

    Args:
        answers: The endpoint.
        query: The query without prefixes.
        always: Variables that have a value in every row.

    Raises:
        TextgamutError: If the endpoint refuses the query or does not answer.
    """

    def check(answer: Any, _headers: Any) -> None:
        for row in checked(_Answer, answer, "a SPARQL service").results.bindings:
            if missing := [name for name in always if name not in row]:
                raise TransientError(f"a row of the answer has no {missing[0]}")

    answer = answers.ask({"query": PREFIXES + query}, check, post=True)
    return [
        {name: cell["value"].removeprefix(ENTITY) for name, cell in row.items()}
        for row in answer["results"]["bindings"]
    ]


def literal(text: str, language: str) -> str:
    """Return a text as a SPARQL literal with a language tag."""
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(plain, escaped)
    return f'"{text}"@{language}'
