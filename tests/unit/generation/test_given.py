"""Texts that were generated elsewhere: real files of other programs, and the prompt of each text."""

from __future__ import annotations

import html
import json
import random
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from helpers import ROOT
from hypothesis import given
from hypothesis import strategies as st

from textgamut.config.entries.datasets import ContinuationsDataset
from textgamut.config.entries.sources import GenerationsSource
from textgamut.datasets import continuations
from textgamut.errors import DataError, TextgamutError
from textgamut.generation.given.echo import echo_length
from textgamut.generation.given.given_text import GivenText, read_texts
from textgamut.generation.given.matching import CellTexts, cell_samples
from textgamut.tasks.drawing import draw_dataset_prompts

FILES = Path(__file__).parent / "given"
WIKITEXT = ROOT.parent / "shared/data/decoding/wikitext_gpt2-xl_contrastive_k5_a0.6.json.gz"
SOURCE: dict[str, Any] = {"kind": "generations", "path": "x"}
CELL = CellTexts("news", None, "given", ["given"], 1, [1], 1)


def read(name: str | Path, format_: str = "table", **source: Any) -> list[GivenText]:
    entry = GenerationsSource.model_validate(SOURCE | {"format": format_} | source)
    return list(read_texts(FILES / name, entry))


def prompts(*texts: str, first: int = 1) -> pd.DataFrame:
    """Prompts with the ids p1, p2, ..."""
    rows = [
        {"id": f"p{i}", "base": text, "user": f"Continue the following text:\n\n{text}", "start": ""}
        for i, text in enumerate(texts, start=first)
    ]
    return pd.DataFrame(rows, columns=["id", "base", "user", "start"])


TWO = prompts("Once upon a time", "The weather in Paris")
NONE = prompts()


def texts(rows: Iterable[dict[str, Any]]) -> list[GivenText]:
    return [GivenText(f"f: line {i}", **{"text": f"t{i}"} | row) for i, row in enumerate(rows, start=1)]


def matched(
    rows: Sequence[dict[str, Any]],
    cell: CellTexts = CELL,
    own: pd.DataFrame = TWO,
    others: pd.DataFrame = NONE,
    with_prompt: Any = "auto",
) -> tuple[list[tuple[str, int, str]], list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        samples = cell_samples(texts(rows), cell, own, others, with_prompt)
    found = [(sample["prompt_id"], sample["completion"], sample["continuation"]) for sample in samples]
    return found, [str(warning.message) for warning in caught]


BOTH = [{"prompt_id": "p2"}, {"prompt_id": "p1"}]


class TestFiles:
    """Files that other programs wrote, with SmolLM2-135M-Instruct where a model was needed."""

    def test_lm_eval_repeats(self) -> None:
        found = read("lm-eval-repeats.jsonl", "lm-eval")
        assert [text.completion for text in found[:4]] == [0, 1, 2, 0]
        assert found[0].prompt_id == "p1"
        assert found[0].prompts[0] == "Write a story about a lighthouse keeper."
        line = json.loads((FILES / "lm-eval-repeats.jsonl").read_text().splitlines()[0])
        assert [text.text for text in found[:3]] == line["resps"][0]

    def test_lm_eval_filters_repeat_the_answers(self) -> None:
        lines = (FILES / "lm-eval-filters.jsonl").read_text().splitlines()
        documents = {json.loads(line)["doc_id"] for line in lines}
        found = read("lm-eval-filters.jsonl", "lm-eval")
        assert len(lines) > len(documents)
        assert len(found) == len({(text.prompt_id, text.completion) for text in found}) == 3 * len(documents)

    @pytest.mark.parametrize("name", ["lm-eval-chat.jsonl", "lm-eval-api-chat.jsonl"])
    def test_lm_eval_chat_has_the_prompt_in_its_document(self, name: str) -> None:
        found = read(name, "lm-eval")
        assert "Write a story about a lighthouse keeper." in found[0].prompts

    @pytest.mark.parametrize("name", ["lm-eval-choices.jsonl", "lm-eval-rolling.jsonl"])
    def test_lm_eval_likelihoods_are_no_texts(self, name: str) -> None:
        with pytest.raises(DataError, match=r"line 1: not a request to generate a text: .*generate_until"):
            read(name, "lm-eval")

    def test_vllm_run_batch(self) -> None:
        found = read("vllm-run-batch.jsonl", "openai-batch")
        by_id: dict[Any, list[GivenText]] = {}
        for text in found:
            by_id.setdefault(text.prompt_id, []).append(text)
        assert (by_id["chat-1"][0].text or "").startswith("In the sleepy town")
        assert by_id["chat-1"][0].tokens == 24
        assert by_id["chat-1"][0].finish == "length"
        assert [text.completion for text in by_id["chat-n"]] == [0, 1, 2]
        problems = {name: texts[0].problem for name, texts in by_id.items() if texts[0].text is None}
        assert problems.keys() == {"chat-badmodel", "chat-toolong", "unsupported-url"}
        assert "`other-model` does not exist" in problems["chat-badmodel"]
        assert "max_tokens=100000" in problems["chat-toolong"]
        assert "/v1/nothing" in problems["unsupported-url"]

    def test_completions_of_a_server(self) -> None:
        found = read("openai-completions.jsonl", "openai-batch")
        texts = {(text.prompt_id, text.completion): text.text or "" for text in found}
        assert texts["comp-1", None].startswith(" a mix of the Mediterranean")
        assert texts["comp-n", 1].startswith(" I used to think")

    def test_openai_expired_and_refused(self, tmp_path: Path) -> None:
        """Both forms of a failure in OpenAI's documentation."""
        refused = {"message": "Invalid model", "type": "invalid_request_error", "code": None}
        lines = [
            {"custom_id": "p1", "response": None, "error": {"code": "batch_expired", "message": "Expired."}},
            {"custom_id": "p2", "response": {"status_code": 400, "body": {"error": refused}}, "error": None},
        ]
        (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, lines)))
        found = read(tmp_path / "b.jsonl", "openai-batch")
        assert [text.problem for text in found] == [
            "the request failed: Expired.",
            "the request failed: Invalid model",
        ]

    def test_strange_answers(self, tmp_path: Path) -> None:
        body = {"choices": [{"index": 0, "text": "t", "finish_reason": 3}], "usage": [], "model": 7}
        line = {"custom_id": "p1", "response": {"status_code": 200, "body": body}}
        (tmp_path / "b.jsonl").write_text(json.dumps(line))
        [text] = read(tmp_path / "b.jsonl", "openai-batch")
        assert (text.finish, text.tokens, text.model) == (None, None, None)

    @pytest.mark.parametrize("format_", ["table", "openai-batch", "lm-eval"])
    def test_no_texts(self, format_: str, tmp_path: Path) -> None:
        (tmp_path / "t.jsonl").write_text("\n")
        with pytest.raises(DataError, match=r"t\.jsonl: there are no texts"):
            read(tmp_path / "t.jsonl", format_)

    def test_own_custom_ids(self, tmp_path: Path) -> None:
        body = {"choices": [{"index": 0, "text": " t", "finish_reason": "stop"}], "model": "m"}
        line = {"custom_id": "news/top-p-0.95/seed7/a/b, c/3", "response": {"status_code": 200, "body": body}}
        (tmp_path / "b.jsonl").write_text(json.dumps(line))
        [text] = read(tmp_path / "b.jsonl", "openai-batch")
        assert text[2:8] == ("a/b, c", (), 3, "news", "m", "top-p-0.95")
        assert text.seed == 7

    def test_lighteval(self) -> None:
        found = read("lighteval.parquet", "lighteval")
        assert [text.completion for text in found[:4]] == [0, 1, 2, 0]
        assert found[0].prompts == ("Once upon a time, in a village by the sea,",)
        assert (found[0].text or "").startswith("The village of Kanaq")
        with pytest.raises(DataError, match=r"row 1: no text: .*GENERATIVE"):
            read("lighteval-choices.parquet", "lighteval")

    @pytest.mark.parametrize("suffix", ["eval", "json"])
    def test_inspect(self, suffix: str) -> None:
        pytest.importorskip("inspect_ai")
        found = read(f"inspect.{suffix}", "inspect")
        assert len(found) == len({(text.prompt_id, text.completion) for text in found}) > 3
        assert all(text.text is not None and text.prompts for text in found)
        failed = [text for text in read("inspect-failed.eval", "inspect") if text.text is None]
        assert failed
        assert failed[0].problem

    def test_inspect_is_an_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "inspect_ai", None)
        monkeypatch.setitem(__import__("sys").modules, "inspect_ai.log", None)
        with pytest.raises(TextgamutError, match=r"pip install 'textgamut\[inspect\]'"):
            read("inspect.eval", "inspect")

    def test_simctg(self, tmp_path: Path) -> None:
        items = [
            {"prefix_text": "A", "reference_text": " r", "generated_result": {"0": " x", "1": " y"}},
            {"prefix_text": "B", "generated_result": {"0": {"full_text": "B z", "continuation": " z"}}},
            {"prefix_text": "C", "generated_result": {"0": None}},
        ]
        (tmp_path / "r.json").write_text(json.dumps(items))
        found = read(tmp_path / "r.json", "simctg")
        assert [(text.prompts, text.completion, text.text) for text in found] == [
            (("A",), 0, " x"), (("A",), 1, " y"), (("B",), 0, " z"), (("C",), 0, ""),
        ]  # fmt: skip

    @pytest.mark.skipif(not WIKITEXT.exists(), reason=f"the decoding benchmark is not at {WIKITEXT}")
    def test_the_decoding_benchmark(self) -> None:
        """1,314 prompts of WikiText, and GPT-2 XL's texts with contrastive search, one of them empty."""
        entry = ContinuationsDataset.model_validate(
            {"format": "continuations", "source": {"kind": "file", "path": str(WIKITEXT)}}
        )
        own = draw_dataset_prompts(continuations.read(WIKITEXT, entry), "wiki", None)
        found = read(WIKITEXT, "simctg")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            samples = cell_samples(found, CELL, own, NONE)
        assert [sample["continuation"] for sample in samples] == [text.text for text in found]
        assert len(samples) == 1314
        assert sum(not sample["continuation"] for sample in samples) == 1


def answer_line(prompt_id: str, content: Any = "a b", **more: Any) -> str:
    """Return a line of a batch, as OpenAI writes it."""
    message = {"role": "assistant", "content": content, **more}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    body = {"model": "m", "choices": choices, "usage": {"completion_tokens": 5}}
    response = {"status_code": 200, "request_id": "r", "body": body}
    return json.dumps({"custom_id": prompt_id, "response": response, "error": None})


def failed_line(prompt_id: str, status: int | None, message: str) -> str:
    response = status and {"status_code": status, "body": {"error": {"message": message}}}
    error = None if status else {"code": "batch_expired", "message": message}
    return json.dumps({"custom_id": prompt_id, "response": response, "error": error})


def imported(
    path: Path, *lines: str, format_: str = "openai-batch", **cell: Any
) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Match the texts of a file with the two prompts: prompt, text, finish reason; and the warnings."""
    path = path / "t.jsonl"
    path.write_text("\n".join(lines))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        samples = cell_samples(read(path, format_), CELL._replace(**cell), TWO, NONE)
    found = [(sample["prompt_id"], sample["continuation"], sample["finish"]) for sample in samples]
    return found, [str(warning.message) for warning in caught]


class TestFailedRequests:
    """Failed requests say nothing of a model, a completion or a text; they are counted."""

    P1, P2 = answer_line("p1"), answer_line("p2", "c d")
    BOTH = [("p1", "a b", "stop"), ("p2", "c d", "stop")]

    def test_a_prompt_without_an_answer(self, tmp_path: Path) -> None:
        for status in (400, 429, 500, None):
            with pytest.raises(
                DataError,
                match=r"1 prompts have too few .*'p2': 0 of 1; 1 failed, .*line 2: the .*: too large",
            ):
                imported(tmp_path, self.P1, failed_line("p2", status, "too large"))

    @pytest.mark.parametrize("model", [None, "m"])
    @pytest.mark.parametrize("status", [400, 429, None])
    def test_repeated_later_or_before(self, tmp_path: Path, model: str | None, status: int | None) -> None:
        failed = failed_line("p1", status, "expired")
        for lines in ([failed, self.P1, self.P2], [self.P1, failed, self.P2], [self.P1, self.P2, failed]):
            found, told = imported(tmp_path, *lines, model=model)
            assert found == self.BOTH
            [warning] = told
            assert re.search(r"1 failed, such as .*: the request failed: expired; there are enough", warning)

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"response": {"status_code": 200, "body": {"error": {"message": "busy"}}}}, "failed: busy"),
            ({"response": {"status_code": 200, "body": {"choices": []}}}, "the answer is empty"),
            ({"response": {"status_code": 200, "body": {"choices": None}}}, "the answer is empty"),
            ({"response": {"status_code": "500", "body": None}}, "failed with status 500"),
            ({"error": {"message": "expired"}}, "failed: expired"),
        ],
    )
    def test_other_servers(self, tmp_path: Path, fields: dict[str, Any], words: str) -> None:
        lines = [json.dumps({"custom_id": "p1", **fields}), self.P1.replace("200", '"200"'), self.P2]
        found, told = imported(tmp_path, *lines)
        assert found == self.BOTH
        assert words in told[0]

    @pytest.mark.parametrize("count", ["-5", "1" + "0" * 400])
    def test_impossible_numbers_of_tokens(self, tmp_path: Path, count: str) -> None:
        line = self.P1.replace('"completion_tokens": 5', f'"completion_tokens": {count}')
        with pytest.raises(DataError, match=r"line 1: .* is not a number of tokens"):
            imported(tmp_path, line, self.P2)

    def test_all_of_them(self, tmp_path: Path) -> None:
        for model in (None, "m"):
            with pytest.raises(DataError, match=r"t\.jsonl: 2 failed, such as .*line 1: .*: quota"):
                imported(
                    tmp_path, failed_line("p1", 429, "quota"), failed_line("p2", 429, "quota"), model=model
                )

    def test_among_several_choices(self, tmp_path: Path) -> None:
        line = json.loads(answer_line("p1"))
        choices = line["response"]["body"]["choices"]
        line["response"]["body"]["choices"] = [
            {**choices[0], "index": n, "message": {"content": str(n)}} for n in (1, 0)
        ]
        found, _ = imported(tmp_path, failed_line("p1", 429, "x"), json.dumps(line), self.P2)
        assert found == [("p1", "0", "stop"), ("p2", "c d", "stop")]

    def test_vllm_run_batch(self) -> None:
        own = prompts("?", "!").assign(id=["chat-1", "chat-n"])
        with pytest.warns(UserWarning, match=r"3 failed, such as .*line 5: .*`other-model` does not exist"):
            samples = cell_samples(read("vllm-run-batch.jsonl", "openai-batch"), CELL, own, NONE)
        assert [sample["prompt_id"] for sample in samples] == ["chat-1", "chat-n"]

    def test_inspect(self) -> None:
        pytest.importorskip("inspect_ai")
        given = read("inspect-failed.eval", "inspect")
        answered = [str(text.prompt_id) for text in given if text.text is not None]
        own = prompts("?").assign(id=answered[:1])
        with pytest.warns(UserWarning, match="failed, such as"):
            samples = cell_samples(given, CELL, own, prompts("!").assign(id=["p2"]))
        assert len(samples) == 1


def test_epochs_with_different_numbers_of_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of p1, epoch 1 has two choices and epoch 2 one; of p2, a choice failed in epoch 1."""
    inspect_log = pytest.importorskip("inspect_ai.log")

    def choice(text: str) -> Any:
        message = SimpleNamespace(text=text, content=text)
        return SimpleNamespace(message=message, stop_reason="content_filter" if text == "d" else "stop")

    def sample(id_: str, epoch: int, *choices: str) -> Any:
        output = SimpleNamespace(choices=[choice(text) for text in choices])
        return SimpleNamespace(id=id_, epoch=epoch, input="x", output=output, error=None)

    samples = [sample("p1", 1, "a", "b"), sample("p1", 2, "x"), sample("p2", 1), sample("p2", 2, "c", "d")]
    monkeypatch.setattr(inspect_log, "read_eval_log", lambda _: SimpleNamespace(samples=samples))
    given = read("inspect.eval", "inspect")
    with pytest.warns(UserWarning, match="texts are") as told:
        found = cell_samples(given, CELL._replace(completions=2), TWO, NONE)
    assert [text["continuation"] for text in found] == ["a", "b", "c", "d"]
    messages = [str(warning.message) for warning in told]
    assert messages[0].startswith("1 texts are left out")
    assert re.fullmatch(r"1 of 4 texts are refusals, such as .*: sample p2, epoch 2", messages[-1])


class TestUnusualAnswers:
    P2 = answer_line("p2", "c d")

    @pytest.mark.parametrize("content", [None, "", " \n"])
    def test_a_refusal_is_the_text(self, tmp_path: Path, content: Any) -> None:
        found, told = imported(tmp_path, answer_line("p1", content, refusal="I can not help."), self.P2)
        assert found[0] == ("p1", "I can not help.", "stop")
        assert re.fullmatch(r"1 of 2 texts are refusals, such as .*t\.jsonl: line 1", told[0])

    @pytest.mark.parametrize("refusal", [None, "", 5])
    def test_null_is_an_empty_text(self, tmp_path: Path, refusal: Any) -> None:
        found, told = imported(tmp_path, answer_line("p1", None, refusal=refusal), self.P2)
        assert found[0] == ("p1", "", "stop")
        assert "1 of 2 texts are null answers, read as empty texts, such as" in told[0]

    def test_an_answer_is_no_refusal(self, tmp_path: Path) -> None:
        assert imported(tmp_path, answer_line("p1", "yes", refusal=None), self.P2)[1] == []

    def test_a_text_of_another_type(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"line 1: 'content' is not a string"):
            imported(tmp_path, answer_line("p1", [{"type": "text"}]), self.P2)

    @pytest.mark.parametrize("text", ["None", "nan", "null", " None\n", "NONE", "N/A"])
    def test_a_text_as_programs_write_a_missing_one(self, tmp_path: Path, text: str) -> None:
        found, told = imported(tmp_path, answer_line("p1", text), self.P2)
        assert found[0][1] == text
        assert f"1 of 2 texts are exactly {text.strip()!r}, as programs write a missing answer" in told[0]


def lm_eval_line(number: int, arguments: Any, text: Any, **more: Any) -> str:
    prompt = TWO["base"][number]
    doc = {"doc_id": number, "doc": {"prompt": prompt}, "arguments": arguments, "resps": [[text]]}
    return json.dumps(doc | more)


class TestOlderLogsOfLmEval:
    UNTIL = {"until": ["\n"]}
    TEXTS = [("p1", "a b", "unknown"), ("p2", "c d", "unknown")]

    @pytest.mark.parametrize(
        "arguments",
        [
            lambda prompt: [[prompt, {"until": []}]],
            lambda prompt: [prompt, {"until": []}],
            lambda prompt: [[prompt, {"until": []}, {"visual": []}]],
            lambda prompt: {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": []}}},
        ],
    )
    def test_arguments(self, tmp_path: Path, arguments: Any) -> None:
        lines = [lm_eval_line(n, arguments(TWO["base"][n]), text) for n, text in enumerate(["a b", "c d"])]
        assert imported(tmp_path, *lines, format_="lm-eval") == (self.TEXTS, [])
        twice = [line for line in lines for _ in range(2)]
        assert imported(tmp_path, *twice, format_="lm-eval") == (self.TEXTS, [])

    @pytest.mark.parametrize("arguments", [[["a", "b"]], ["a", "b"], [["a"]], [], ["a", {}, {}], "a", None])
    def test_other_requests(self, tmp_path: Path, arguments: Any) -> None:
        with pytest.raises(DataError, match="line 1: not a request to generate a text"):
            imported(tmp_path, lm_eval_line(0, arguments, "a b"), format_="lm-eval")

    def test_a_document_with_two_answers(self, tmp_path: Path) -> None:
        lines = [lm_eval_line(0, [["x", {}]], text) for text in ("a", "b")]
        with pytest.raises(DataError, match="line 2: a second text of completion 0"):
            imported(tmp_path, *lines, format_="lm-eval")

    def test_null(self, tmp_path: Path) -> None:
        lines = [lm_eval_line(n, [["x", {}]], text) for n, text in enumerate(["a b", None])]
        found, told = imported(tmp_path, *lines, format_="lm-eval")
        assert found == [self.TEXTS[0], ("p2", "", "unknown")]
        assert "1 of 2 texts are null answers" in told[0]


PROMPT = "King , Gertrude and the café said : "


@pytest.mark.parametrize(
    ("before", "echo", "after"),
    [
        ("", PROMPT, ""),
        (" ", PROMPT, ""),
        ("\n\n", PROMPT, ""),
        ("<s> ", PROMPT, ""),
        ("<|begin_of_text|>", PROMPT, ""),
        ("<bos>", PROMPT, ""),
        ("<\uff5cbegin\u2581of\u2581sentence\uff5c>", PROMPT, ""),
        ("[CLS] ", PROMPT.lower(), ""),
        ("", "King, Gertrude and the café said: ", ""),
        ("", "King\u00a0, Gertrude\nand  the café said : ", ""),
        ("\u2581", PROMPT.replace(" ", "\u2581"), ""),
        ("", unicodedata.normalize("NFD", PROMPT), ""),
        ("\ufeff", PROMPT, ""),
        ("<|im_start|>user\n", PROMPT, "<|im_end|>\n<|im_start|>assistant\n"),
        ("<start_of_turn>user\n", PROMPT, "<end_of_turn>\n<start_of_turn>model\n"),
        (
            "<|start_header_id|>user<|end_header_id|>\n\n",
            PROMPT,
            "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
        ),
        ("<s>[INST] ", PROMPT, "[/INST]"),
    ],
)
def test_a_prompt_is_found_as_tokenizers_and_templates_change_it(before: str, echo: str, after: str) -> None:
    assert echo_length(PROMPT, f"{before}{echo}{after}so they went.") == len(before + echo + after)


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("The", " They went"),  # short: by chance
        ("", "text"),
        ("The old castle in the cafe", "The old castle in the café fell"),  # ends in the middle of a letter
        ("The old castle in the cafe", " The old castle in the cafe\u0301 fell"),
        ("The old castle in the town", "The old castle in a town"),
        ("The old castle in the town", "The old castle"),
        ("The old castle in the town", "I say: The old castle in the town fell"),
        ("The old castle in the town", ""),
    ],
)
def test_something_else_is_no_prompt(prompt: str, text: str) -> None:
    assert echo_length(prompt, text) == 0


@given(st.text(min_size=1), st.text())
def test_a_text_that_begins_with_its_prompt_is_cut_behind_it(prompt: str, rest: str) -> None:
    assert echo_length(prompt, prompt + rest) == len(prompt)


def test_prompts_after_a_blank_are_removed() -> None:
    own = prompts("Last year the old castle in the town", "Last year the old garden in the town")
    bare, blank = (
        [{"prompt_id": f"p{i}", "text": f"{before}{base} fell."} for i, base in enumerate(own["base"], 1)]
        for before in ("", " ")
    )
    assert matched(bare, own=own) == matched(blank, own=own)
    assert matched(blank, own=own)[0] == [("p1", 0, " fell."), ("p2", 0, " fell.")]


@pytest.mark.parametrize(
    ("prompt", "text", "length"),
    [("Once", " Once more", 5), ("Once", "<s> Once, he", 8), ("Paris", "\n<|begin_of_text|> Paris is", 24)],
)
def test_a_short_prompt_is_found_after_blanks_and_special_tokens(prompt: str, text: str, length: int) -> None:
    assert echo_length(prompt, text) == length


@pytest.mark.parametrize(
    "change",
    [
        lambda prompt: f"You are kind. {prompt}",
        lambda prompt: prompt.replace(" ", "Ġ"),
        lambda prompt: prompt.replace("\u2019", "'"),  # as a model's tokenizer or a program normalises quotes
        html.escape,
        lambda prompt: prompt.replace("\u2019", "&rsquo;").replace("é", "e"),
        lambda prompt: prompt[25:],  # cut to the last tokens
        lambda prompt: prompt[:-25],
    ],
)
def test_prompts_near_the_beginning_are_told(change: Callable[[str], str]) -> None:
    place = "& the lord\u2019s old castle by the river in the north of the town"
    own = prompts(
        f"“Last year, the café\u2019s garden {place}", f"This year, the old café\u2019s garden {place}"
    )
    rows = [{"prompt_id": f"p{i}", "text": f"{change(t)} fell."} for i, t in enumerate(own["base"], 1)]
    found, told = matched(rows, own=own)
    assert found[0][2] == rows[0]["text"]
    assert told == [
        "0 of 2 texts begin with their prompt, and 2 contain it near their beginning, which is kept: remove "
        "it from the texts, or set source.with_prompt to always or never"
    ]


class TestTables:
    def test_formats_and_names(self, tmp_path: Path) -> None:
        frame = pd.DataFrame(
            {"input": ["a", "b"], "output": [" x", ""], "seed": [1, 2], "number": [3, 4], "topic": ["s", "t"]}
        )
        frame.to_csv(tmp_path / "t.csv", index=False)
        frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
        frame.to_parquet(tmp_path / "t.parquet")
        frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
        columns = {"prompt": "input", "text": "output", "completion": "number"}
        for suffix in ("csv", "tsv", "parquet", "jsonl"):
            found = read(tmp_path / f"t.{suffix}", columns=columns)
            assert [(t.prompts, t.text, t.completion, t.seed) for t in found] == [
                (("a",), " x", 3, 1), (("b",), "", 4, 2),
            ]  # fmt: skip

    def test_the_whole_continuation_counts(self, tmp_path: Path) -> None:
        pd.DataFrame({"text": ["cut", None], "continuation": ["whole", "other"]}).to_parquet(
            tmp_path / "t.parquet"
        )
        assert [text.text for text in read(tmp_path / "t.parquet")] == ["whole", "other"]

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"text": 3}', "line 2: 'text' is not a string"),
            ('{"text": null}', "line 2 has no 'text'"),
            ('{"text": "a", "seed": "x"}', "line 2: 'seed' is not an integer: 'x'"),
            ('{"text": "a", "seed": 1.5}', "line 2: 'seed' is not an integer: '1.5'"),
            ('{"text": "a", "seed": true}', "line 2: 'seed' is not an integer: 'True'"),
            ('{"text": "a", "prompt_id": ["p1"]}', "line 2: 'prompt_id' is neither a string nor a number"),
            ('{"text": "a"', "line 2: not valid JSON"),
            ("[]", "line 2: not a JSON object"),
        ],
    )
    def test_damaged_lines(self, tmp_path: Path, line: str, message: str) -> None:
        (tmp_path / "t.jsonl").write_text('{"text": "good", "seed": 1, "prompt_id": "p1"}\n' + line)
        with pytest.raises(DataError, match=re.escape(message)):
            read(tmp_path / "t.jsonl")

    def test_missing_columns(self, tmp_path: Path) -> None:
        (tmp_path / "t.jsonl").write_text('{"output": "good"}')
        with pytest.raises(DataError, match="no column 'text'; valid: 'output'"):
            read(tmp_path / "t.jsonl")
        with pytest.raises(DataError, match="no column 'input'; valid: 'output'"):
            read(tmp_path / "t.jsonl", columns={"text": "output", "prompt": "input"})
        (tmp_path / "t.jsonl").write_text("\n")
        with pytest.raises(DataError, match="there are no texts"):
            read(tmp_path / "t.jsonl")


class TestPrompts:
    def test_by_id_in_the_order_of_the_prompts(self) -> None:
        assert matched(BOTH) == ([("p1", 0, "t2"), ("p2", 0, "t1")], [])

    @pytest.mark.parametrize("form", ["{}", " {}\n", "Continue the following text:\n\n{}"])
    def test_by_any_variant_of_the_text(self, form: str) -> None:
        rows = [{"prompts": (form.format(base),)} for base in reversed(list(TWO["base"]))]
        assert matched(rows) == ([("p1", 0, "t2"), ("p2", 0, "t1")], [])

    def test_an_unknown_id_with_a_known_text(self) -> None:
        rows = [{"prompt_id": "17", "prompts": (base,)} for base in TWO["base"]]
        assert matched(rows)[0] == [("p1", 0, "t1"), ("p2", 0, "t2")]

    def test_equal_prompts_share_their_texts(self) -> None:
        equal = prompts("A", "A", "B")
        rows = [{"prompts": (text,)} for text in ("A", "B", "A", "A", "A", "B")]
        found, told = matched(rows, CELL._replace(completions=2), equal)
        assert found == [
            ("p1", 0, "t1"), ("p1", 1, "t3"), ("p2", 0, "t4"), ("p2", 1, "t5"),
            ("p3", 0, "t2"), ("p3", 1, "t6"),
        ]  # fmt: skip
        assert told == []

    def test_texts_without_prompts(self) -> None:
        assert matched([{}, {}], own=prompts("", "")) == ([("p1", 0, "t1"), ("p2", 0, "t2")], [])
        with pytest.raises(DataError, match="f: line 1: neither the id nor the text of its prompt is given"):
            matched([{}, {}])

    def test_unknown_prompts_are_counted(self) -> None:
        found, told = matched([*BOTH, {"prompt_id": "p3"}, {"prompt_id": "q"}])
        assert len(found) == 2
        [message] = told
        assert message.startswith(
            "f: line 3: 2 of 4 texts have a prompt that the task does not have, such as 'p3'"
        )
        with pytest.raises(DataError, match=r"2 of 2 texts have a prompt .* such as 'P1'; valid: 'p1', 'p2'"):
            matched([{"prompt_id": "P1"}, {"prompt_id": "P2"}])

    def test_prompts_of_other_cells_are_counted(self) -> None:
        _, told = matched(
            [*BOTH, {"prompt_id": "p3"}, {"prompts": ("Z",)}], others=prompts("Y", "Z", first=3)
        )
        assert told == ["2 of 4 texts are left out: their prompts are those of other cells"]

    def test_a_prompt_without_a_text(self) -> None:
        with pytest.raises(DataError, match="f: 1 prompts have too few texts, such as 'p1': 0 of 1"):
            matched(BOTH[:1])
        failed = {"text": None, "problem": "the request failed: Expired.", "prompt_id": "p1"}
        with pytest.raises(DataError, match="1 failed, such as f: line 2: the request failed: Expired"):
            matched([BOTH[0], failed])

    def test_a_failed_request_that_was_repeated(self) -> None:
        failed = {"text": None, "problem": "the request failed: Expired.", "prompt_id": "p1"}
        assert matched([failed, *BOTH])[0] == [("p1", 0, "t3"), ("p2", 0, "t2")]


class TestCompletionsAndSeeds:
    def test_numbered_completions_in_any_order(self) -> None:
        rows = [{"prompt_id": p, "completion": c} for p in ("p1", "p2") for c in (3, 1)]
        found, _ = matched(rows, CELL._replace(completions=2))
        assert found == [("p1", 0, "t2"), ("p1", 1, "t1"), ("p2", 0, "t4"), ("p2", 1, "t3")]

    def test_two_texts_for_one_completion(self) -> None:
        rows = [{"prompt_id": "p1", "completion": 0}] * 2 + [{"prompt_id": "p2", "completion": 0}]
        with pytest.raises(
            DataError, match=r"line 2: a second text of completion 0 .* 'p1'; the first is f: line 1"
        ):
            matched(rows)

    def test_unequal_completions(self) -> None:
        found, told = matched([*BOTH, {"prompt_id": "p1"}])
        assert len(found) == 2
        assert told == ["1 texts are left out: the task has 1 for each prompt and seed"]
        with pytest.raises(DataError, match="1 prompts have too few texts, such as 'p2': 1 of 2"):
            matched([*BOTH, {"prompt_id": "p1"}], CELL._replace(completions=2))

    def test_requests_with_different_n(self) -> None:
        """Choices have numbers where a request has several; where only some have, the order counts."""
        rows = [{"prompt_id": "p2"}, *({"prompt_id": "p1", "completion": n} for n in (1, 0))]
        found, _ = matched(rows)
        assert found == [("p1", 0, "t3"), ("p2", 0, "t1")]
        rows += [{"prompt_id": "p1"}, {"prompt_id": "p2"}, {"prompt_id": "p2"}]
        found, _ = matched(rows, CELL._replace(completions=3))
        assert [text for _, _, text in found] == ["t2", "t3", "t4", "t1", "t5", "t6"]

    def test_known_seeds(self) -> None:
        rows = [{"prompt_id": p, "seed": s} for s in (2, 1, 3) for p in ("p1", "p2")]
        found, told = matched(rows, CELL._replace(seeds=[1, 2]))
        assert found == [("p1", 0, "t3"), ("p2", 0, "t4")]
        assert told == ["texts of other seeds are left out: 3"]

    def test_unknown_seeds_are_numbered(self) -> None:
        rows = [{"prompt_id": p, "seed": s} for s in (42, 17, 99) for p in ("p1", "p2")]
        cell = CELL._replace(seeds=[1, 2])
        assert matched(rows, cell) == (
            [("p1", 0, "t3"), ("p2", 0, "t4")], ["seeds 17, 42 of the file are read as 1, 2"],
        )  # fmt: skip
        assert matched(rows, cell._replace(seed=2))[0] == [("p1", 0, "t1"), ("p2", 0, "t2")]

    def test_too_few_seeds(self) -> None:
        rows = [{"prompt_id": p, "seed": s} for s in (1, 5) for p in ("p1", "p2")]
        with pytest.raises(DataError, match="the task has the seeds 1, 2, but the file 1, 5"):
            matched(rows, CELL._replace(seeds=[1, 2]))

    def test_without_seeds_they_share_the_texts(self) -> None:
        rows = [*BOTH, *BOTH]
        cell = CELL._replace(seeds=[1, 2])
        first, told = matched(rows, cell)
        second, _ = matched(rows, cell._replace(seed=2))
        assert first == [("p1", 0, "t2"), ("p2", 0, "t1")]
        assert second == [("p1", 0, "t4"), ("p2", 0, "t3")]
        assert told == ["the file has no seeds: seeds 1, 2 share the texts of each prompt in order"]
        with pytest.raises(DataError, match="each seed of the task has its own prompts"):
            matched(rows, cell._replace(own_prompts=True))


class TestOrigin:
    def test_several_models(self) -> None:
        rows = [row | {"model": model} for model in ("a", "b") for row in BOTH]
        with pytest.raises(
            DataError, match=r"the texts are of 2 models, 'a', 'b': name one of them as source\.model"
        ):
            matched(rows)
        assert matched(rows, CELL._replace(model="b"))[0] == [("p1", 0, "t4"), ("p2", 0, "t3")]
        with pytest.raises(DataError, match="no text of the model 'B'; valid: 'a', 'b'"):
            matched(rows, CELL._replace(model="B"))
        with pytest.raises(DataError, match="no text has the name of its model"):
            matched(BOTH, CELL._replace(model="b"))
        with pytest.raises(DataError, match="line 3: no model, which other texts have"):
            matched([*rows[:2], {"prompt_id": "p1"}])

    def test_decodings(self) -> None:
        rows = [row | {"decoding": name} for name in ("greedy", "given") for row in BOTH]
        assert matched(rows)[0] == [("p1", 0, "t4"), ("p2", 0, "t3")]
        with pytest.raises(DataError, match="no text with the decoding 'beam'; "):
            matched(rows, CELL._replace(decoding="beam", decodings=["beam", "given"]))
        with pytest.raises(
            DataError, match="has the decodings a, b in the task: add a column, or a file for each"
        ):
            matched(BOTH, CELL._replace(decoding="a", decodings=["a", "b"]))

    def test_one_name_for_one_decoding(self) -> None:
        found, told = matched([row | {"decoding": "top_p=0.9"} for row in BOTH])
        assert len(found) == 2
        assert told == ["the decoding 'top_p=0.9' of the file is read as 'given'"]

    def test_what_belongs_to_others_is_told(self) -> None:
        rows = [row | {"task": t, "model": m, "decoding": d} for t, m, d in (
            ("news", "a", "given"), ("wiki", "a", "given"), ("news", "b", "given"), ("news", "a", "gven"),
        ) for row in BOTH]  # fmt: skip
        found, told = matched(rows, CELL._replace(model="a"))
        assert found == [("p1", 0, "t2"), ("p2", 0, "t1")]
        assert told == [f"texts of other {what}s are left out: {name}" for what, name in (
            ("model", "b"), ("task", "wiki"), ("decoding", "gven"),
        )]  # fmt: skip

    def test_other_tasks(self) -> None:
        rows = [row | {"task": task} for task in ("wiki", "news") for row in BOTH]
        assert matched(rows)[0] == [("p1", 0, "t4"), ("p2", 0, "t3")]


class TestTextsWithTheirPrompts:
    FULL = [
        {"prompt_id": "p1", "text": "Once upon a time there was"},
        {"prompt_id": "p2", "text": "The weather in Paris is fine"},
    ]

    def test_detected(self) -> None:
        found, told = matched(self.FULL)
        assert [text for *_, text in found] == [" there was", " is fine"]
        assert told == ["all texts begin with their prompts, which are removed"]

    def test_an_empty_text_does_not_count(self) -> None:
        found, _ = matched([self.FULL[0], {"prompt_id": "p2", "text": ""}])
        assert [text for *_, text in found] == [" there was", ""]

    def test_some_of_them(self) -> None:
        own = prompts("A b", "C d", "E f")
        rows = [
            {"prompt_id": f"p{i}", "text": text} for i, text in enumerate(["A b c", "C d e", "no"], start=1)
        ]
        found, told = matched(rows, own=own)
        assert [text for *_, text in found] == ["A b c", "C d e", "no"]
        assert told == [
            "2 of 3 texts begin with their prompt, which is kept: remove it from the texts, or set "
            "source.with_prompt to always or never"
        ]
        with pytest.raises(DataError, match="f: line 3: the text does not begin with its prompt"):
            matched(rows, own=own, with_prompt="always")

    def test_asked(self) -> None:
        found, told = matched(self.FULL, with_prompt="never")
        assert found[0][2] == "Once upon a time there was"
        assert told == []


def damaged(rng: random.Random, lines: list[str]) -> list[str]:
    """Damage one line of a table in one of many ways."""
    place = rng.randrange(len(lines))
    row = json.loads(lines[place])
    name = rng.choice(list(row))
    line = lines[place]
    match rng.randrange(7):
        case 0:
            changed = [line[: rng.randrange(1, len(line))]]
        case 1:
            changed = [json.dumps(row | {name: rng.choice([None, 3, 2.5, True, [], {}, "", "?"])})]
        case 2:
            changed = [json.dumps({key: value for key, value in row.items() if key != name})]
        case 3:
            changed = [line, line]
        case 4:
            changed = []
        case 5:
            changed = [json.dumps(row | {"prompt_id": f"unknown-{place}"})]
        case _:
            at = rng.randrange(len(line))
            changed = [line[:at] + rng.choice('"\\{}[],:\x00\ud800é7') + line[at + 1 :]]
    return lines[:place] + changed + lines[place + 1 :]


def test_of_1000_damaged_files_no_text_is_lost_in_silence(tmp_path: Path) -> None:
    rng = random.Random(0)
    own = prompts(*(f"Prompt {i}" for i in range(10)))
    rows = [
        {"prompt_id": f"p{i}", "seed": seed, "completion": c, "text": f"text {i} {seed} {c}", "tokens": 4}
        for i in range(1, 11) for seed in (1, 2) for c in (0, 1)
    ]  # fmt: skip
    lines = list(map(json.dumps, rows))
    cells = [CELL._replace(seed=seed, seeds=[1, 2], completions=2) for seed in (1, 2)]
    path, outcomes = tmp_path / "t.jsonl", {"refused": 0, "told": 0, "read": 0}
    refused: set[str] = set()
    for _ in range(1000):
        content = damaged(rng, lines)
        path.write_bytes("\n".join(content).encode(errors="surrogatepass"))
        samples = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                for cell in cells:
                    samples += cell_samples(read(path), cell, own, NONE)
            except DataError as error:
                refused.add(re.sub(r"\d+", "0", str(error).replace(str(path), "F")).split("'")[0])
                outcomes["refused"] += 1
                continue
        if caught:
            outcomes["told"] += 1
        else:
            outcomes["read"] += 1
            written = sorted(json.loads(line)["text"] for line in content)
            assert sorted(sample["continuation"] for sample in samples) == written
    assert all(message.startswith("F: ") for message in refused), refused
    assert outcomes["refused"] > 600
    assert outcomes["read"] > 30
