"""`textgamut.gate` and its command: outcomes, names, exit codes, recorded baselines, and what is refused."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import tiny
from gate_texts import HUMAN, OLD, REFUSING, SAME, WORDS, sentences

import textgamut
from textgamut.cli.main import main
from textgamut.errors import ConfigError, DataError
from textgamut.features.embed import Features
from textgamut.scoring.gate_sides import Side

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),  # there are few texts
    pytest.mark.usefixtures("few_resamples"),
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_checkpoint(tmp_path_factory.mktemp("checkpoint"), "gpt2")


@pytest.fixture(scope="module")
def gate(checkpoint: Path):
    """`textgamut.gate` with a tiny embedder."""

    def gated(*sides, **options):
        given = {"embedder": checkpoint, "pooling": "mean", "max_tokens": 64, "kmeans_seeds": [0]}
        return textgamut.gate(*sides, **(given | options))

    return gated


@pytest.fixture
def run(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Run the command in a folder with files of texts; return its exit code."""
    monkeypatch.chdir(tmp_path)
    for name, texts in {"human": HUMAN, "old": OLD, "same": SAME, "refusing": REFUSING}.items():
        write(tmp_path / f"{name}.jsonl", texts)

    def ran(*words: str) -> int:
        options = (
            "--embedder",
            str(checkpoint),
            "--pooling",
            "mean",
            "--max-tokens",
            "64",
            "--kmeans-seeds",
            "0",
        )
        return main(["gate", *words, *options])

    return ran


def write(path: Path, texts: list[str], **columns: list) -> None:
    rows = [
        {"text": text} | {name: of[row] for name, of in columns.items()} for row, text in enumerate(texts)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def outcomes(result) -> dict[str, str | None]:
    return {check.metric: check.outcome for check in result.checks if check.group == "all"}


def names(result) -> list[str]:
    return [of.name for of in result.failures if of.fails]


def test_equal_models_do_not_fail_and_refusals_do(gate) -> None:
    assert gate(OLD, SAME, HUMAN).outcome != "fail"
    found = gate(OLD, REFUSING, HUMAN)
    assert found.outcome == "fail"
    assert "refusals" in names(found)
    [refusals] = [of for of in found.failures if of.name == "refusals"]
    assert [of.text for of in refusals.texts] == [REFUSING[0]]
    assert refusals.texts[0].why.endswith("20 equal texts")


def test_a_better_candidate_passes_what_it_is_better_in(gate) -> None:
    assert outcomes(gate(REFUSING, SAME, HUMAN))["refusals"] == "pass"


@pytest.mark.parametrize(
    ("candidate", "name", "metric"),
    [
        (SAME[:20] * 3, "collapse", "distinct_texts"),
        ([""] * 60, "degeneration", "empty_texts"),
        ([text.rstrip(".") for text in SAME], "degeneration", "unfinished_texts"),
        ([f"{text} {text}" for text in SAME], "degeneration", "repetition_4"),
        (HUMAN[:20] + SAME[20:], "copying", "copied_words"),
    ],
)
def test_failures_have_names(gate, candidate: list[str], name: str, metric: str) -> None:
    found = gate(OLD, candidate, HUMAN)
    assert outcomes(found)[metric] == "fail"
    assert name in names(found)


def test_reasons_of_an_end_count_for_punctuation(gate) -> None:
    ended = Side(OLD, finishes=["stop"] * 60), Side(SAME, finishes=["length"] * 30 + ["stop"] * 30)
    assert outcomes(gate(*ended, HUMAN))["unfinished_texts"] == "fail"
    assert outcomes(gate(Side(OLD), ended[1], HUMAN))["unfinished_texts"] == "fail"


def test_texts_of_a_training_corpus_must_not_be_copied(gate) -> None:
    training = sentences(7, 40)
    candidate = training[:20] + SAME[20:]
    assert "copying" not in names(gate(OLD, candidate, HUMAN))
    assert "copying" in names(gate(OLD, candidate, HUMAN, training=training))


def embedded(texts: list[str], vectors: np.ndarray) -> Side:
    return Side(texts, features=Features(vectors.astype(np.float32), 0, 0, 0.0))


def test_rewritten_texts_are_copies_though_they_share_no_long_ngrams(gate, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    human, old, new, training = (rng.normal(size=(60, 30)) for _ in range(4))
    rewritten = new.copy()
    rewritten[:12] = training[:12] + 0.1 * rng.normal(size=(12, 30))
    sides = embedded(OLD, old), embedded(SAME, rewritten), embedded(HUMAN, human)
    corpus = embedded(sentences(7), training)
    assert "copying" not in {of.name for of in gate(*sides).failures}
    found = gate(*sides, training=corpus)
    assert (outcomes(found)["nndr_training"], outcomes(found)["copied_words"]) == ("fail", "pass")
    [copying] = [of for of in found.failures if of.name == "copying"]
    assert copying.fails
    assert {(of.row, of.why.split(": ")[1], of.near) for of in copying.texts} == {
        (row, f"near training text {row}", text) for row, text in enumerate(corpus.texts[:12], start=1)
    }
    page = tmp_path / "page.html"
    found.to_html(page)
    shown = page.read_text()
    assert all(
        of in shown for of in ("near training text 1:", corpus.texts[0], "distance to the nearest of the")
    )
    assert f"near training text 1 ({corpus.texts[0]}): {SAME[0]}".encode() in found.to_junit()
    equal = gate(sides[0], embedded(SAME, new), sides[2], training=corpus)
    assert outcomes(equal)["nndr_training"] == "pass"
    assert "copying" not in {of.name for of in equal.failures}


def test_rewritten_references_are_noticed_of_texts_without_prompts(gate) -> None:
    rng = np.random.default_rng(2)
    human, old, new = (rng.normal(size=(60, 30)) for _ in range(3))
    new[:20] = human[:20] + 0.1 * rng.normal(size=(20, 30))
    sides = embedded(OLD, old), embedded(SAME, new), embedded(HUMAN, human)
    [noticed] = [of for of in gate(*sides).failures if of.name == "copying"]
    assert (noticed.fails, [of.metric for of in noticed.checks]) == (False, ["nndr_references"])
    assert "copying" in names(gate(*sides, fail_on=["copying"]))
    asked = [replace(side, prompts=[f"p{row}" for row in range(60)]) for side in sides[:2]]
    assert "nndr_references" not in outcomes(gate(*asked, sides[2]))


def test_a_model_that_comes_to_write_as_people_do_copies_nothing(gate) -> None:
    """The texts of the baseline lie off the few dimensions of human texts, where nothing is near."""
    rng = np.random.default_rng(3)
    human, old, new, training = (np.zeros((60, 40)) for _ in range(4))
    for of in (human, old, new, training):
        of[:, :4] = rng.normal(size=(60, 4))
    old[:, 4:] = 0.5 * rng.normal(size=(60, 36))
    sides = embedded(OLD, old), embedded(SAME, new), embedded(HUMAN, human)
    found = gate(*sides, training=embedded(sentences(7), training))
    [check] = [of for of in found.checks if of.metric == "nndr_training"]
    assert check.drop > check.margin
    assert (check.outcome, check.found) == ("pass", False)
    assert "copying" not in {of.name for of in found.failures}


def test_rewritten_texts_of_the_baseline_are_named(gate) -> None:
    rng = np.random.default_rng(1)
    human, old, new = (rng.normal(size=(60, 30)) for _ in range(3))
    new[5:20] = old[:15] + 0.1 * rng.normal(size=(15, 30))
    sides = embedded(OLD, old), embedded(SAME, new), embedded(HUMAN, human)
    [noticed] = [of for of in gate(*sides).failures if of.name == "copying"]
    assert not noticed.fails
    assert [of.metric for of in noticed.checks] == ["nearest_across"]
    assert {(of.row, of.near) for of in noticed.texts} >= {(row + 6, OLD[row]) for row in range(15)}
    assert "copying" in names(gate(*sides, fail_on=["copying"]))


def test_few_or_equal_training_texts(gate) -> None:
    """With one text, there is no next one to be farther away."""
    for corpus in (sentences(7, 1), sentences(7, 1) * 30):
        found = outcomes(gate(OLD, SAME, HUMAN, training=corpus))
        assert "nndr_training" not in found
        assert found["copied_words"] == "pass"
    with pytest.raises(DataError, match="training: there are no texts"):
        gate(OLD, SAME, HUMAN, training=[])


def test_what_cannot_be_measured_is_left_out_unless_its_margin_was_asked_for(gate) -> None:
    asked = {"distinct_answers": 0.1, "nndr_training": 0.1}
    assert {*asked} <= {*outcomes(gate(OLD, SAME, HUMAN, margins=asked))}
    assert outcomes(gate(OLD, SAME, HUMAN, margins=asked))["distinct_answers"] == "cannot tell"
    assert not {*asked} & {*outcomes(gate(OLD, SAME, HUMAN))}


def test_fewer_answers_of_a_prompt_are_collapse_though_as_many_texts_differ(gate) -> None:
    prompts = [f"p{row % 20}" for row in range(80)]
    answers = sentences(8, 20)
    varied = [answers[(row + draw) % 20] for draw in range(4) for row in range(20)]
    same = [answers[row] for _ in range(4) for row in range(20)]
    equal = [answers[(row + 2 * draw + 1) % 20] for draw in range(4) for row in range(20)]
    found = gate(Side(varied, prompts), Side(same, prompts), HUMAN)
    checks = {of.metric: of for of in found.checks}
    assert (checks["distinct_answers"].baseline, checks["distinct_answers"].candidate) == (1, 0)
    assert checks["distinct_answers"].outcome == "fail"
    assert checks["distinct_texts"].outcome == "pass"
    [collapse] = [of for of in found.failures if of.name == "collapse"]
    assert "one of 4 equal answers to its prompt" in {of.why.split(";")[0] for of in collapse.texts}
    assert outcomes(gate(Side(varied, prompts), Side(equal, prompts), HUMAN))["distinct_answers"] == "pass"
    once = [f"p{row}" for row in range(80)]
    few = [f"p{row % 5}" for row in range(80)]
    for of in (once, few):
        assert "distinct_answers" not in outcomes(gate(Side(varied, of), Side(same, of), HUMAN))


def test_digests_tell_different_answers(gate) -> None:
    prompts = [f"p{row % 20}" for row in range(80)]
    answers = sentences(8, 20)
    varied = [answers[(row + draw) % 20] for draw in range(4) for row in range(20)]
    same = [answers[row] for _ in range(4) for row in range(20)]
    vectors = np.random.default_rng(0).normal(size=(80, 8))
    sides = [replace(embedded(of, vectors), prompts=prompts) for of in (varied, same)]
    human = embedded(HUMAN, vectors[:60])
    plain, digested = (
        {of.metric: of for of in gate(*given, human).checks}["distinct_answers"]
        for given in (sides, (sides[0].digested(), sides[1]))
    )
    assert (plain.baseline, plain.candidate, plain.p) == (digested.baseline, digested.candidate, digested.p)


def test_without_references_half_of_the_baseline_is_the_reference(gate) -> None:
    found = gate(sentences(2, 120), REFUSING)
    assert not found.tested.humans
    assert len(found.tested.comparison.material.texts.reference) == 60
    assert "refusals" in names(found)
    assert "other texts of the baseline" in found.said[0]


def test_what_only_differs_fails_if_asked_to(gate) -> None:
    longer = [f"{text[:-1]} {' '.join(sorted(WORDS))}." for text in SAME]
    noticed = gate(OLD, longer, HUMAN)
    assert "length" in {of.name for of in noticed.failures}
    assert "length" not in names(noticed)
    assert "length" in names(gate(OLD, longer, HUMAN, fail_on=["length"]))


def test_margins_change_and_add(gate) -> None:
    assert outcomes(gate(OLD, REFUSING, HUMAN, margins={"refusals": 0.9}))["refusals"] == "pass"
    assert gate(OLD, SAME, HUMAN, margins={"frechet": 0.5}).to_frame()["metric"].eq("frechet").any()


def test_each_group_has_a_gate(gate) -> None:
    topics = ["x"] * 30 + ["y"] * 30
    sides = [Side(texts, groups={"topic": topics}) for texts in (OLD, REFUSING, HUMAN)]
    found = gate(*sides, group="topic")
    failing = {
        check.group for check in found.checks if check.metric == "refusals" and check.outcome == "fail"
    }
    assert failing == {"all", "topic=x"}
    with pytest.raises(DataError, match="candidate has no column 'topic'"):
        gate(sides[0], SAME, HUMAN, group="topic")


def test_training_texts_are_those_of_all_groups(run, tmp_path: Path) -> None:
    topics, training = ["x"] * 30 + ["y"] * 30, sentences(7, 40)
    copying = SAME[:30] + training[:15] + SAME[45:]
    for name, texts in {"old": OLD, "copying": copying, "human": HUMAN}.items():
        write(tmp_path / f"{name}.jsonl", texts, topic=topics)
    write(tmp_path / "training.jsonl", training, topic=["z"] * 40)
    sides = ("--baseline", "old.jsonl", "--reference", "human.jsonl", "--training", "training.jsonl")
    assert run(*sides, "--group", "topic", "--record", "old.baseline") == 0
    for name, words in {"plain": sides, "kept": ("--baseline", "old.baseline")}.items():
        run(*words, "--candidate", "copying.jsonl", "--group", "topic", "--output", name)
    plain, kept = (
        json.loads((tmp_path / of / "gate.json").read_text())["checks"] for of in ("plain", "kept")
    )
    assert plain == kept
    drops = {of["group"]: of["drop"] for of in plain if of["metric"] == "nndr_training"}
    assert drops["topic=y"] > 0.2 > drops["topic=x"]


def test_groups_with_few_texts_have_none(gate) -> None:
    topics = ["x"] * 50 + ["y"] * 10
    sides = [Side(texts, groups={"topic": topics}) for texts in (OLD, SAME, HUMAN)]
    with pytest.warns(UserWarning, match="no gate for topic=y"):
        found = gate(*sides, group="topic")
    assert {check.group for check in found.checks} == {"all", "topic=x"}


def test_texts_of_the_same_prompts_are_paired(gate) -> None:
    prompts = [f"p{row}" for row in range(60)]
    paired = gate(Side(OLD, prompts), Side(SAME, prompts[::-1]), HUMAN)
    assert outcomes(paired).keys() == outcomes(gate(OLD, SAME, HUMAN)).keys() - {"nndr_references"}
    few = gate(Side(OLD, prompts), Side(SAME, [f"q{row}" for row in range(50)] + prompts[:10]), HUMAN)
    assert outcomes(few)["precision"] == "cannot tell"  # ten pairs are too few


def test_the_result_does_not_depend_on_a_recorded_form(gate, run, tmp_path: Path) -> None:
    sides = ("--baseline", "old.jsonl", "--reference", "human.jsonl")
    assert run(*sides, "--record", "old.baseline") == 0
    assert run(*sides, "--candidate", "refusing.jsonl", "--output", "plain") == 1
    assert run("--baseline", "old.baseline", "--candidate", "refusing.jsonl", "--output", "kept") == 1
    plain, kept = (json.loads((tmp_path / name / "gate.json").read_text()) for name in ("plain", "kept"))
    assert plain["checks"] == kept["checks"]
    assert plain["failures"] == kept["failures"]


def test_a_baseline_without_texts_tests_all_but_self_bleu_and_copies(run, tmp_path: Path) -> None:
    sides = ("--baseline", "old.jsonl", "--reference", "human.jsonl")
    assert run(*sides, "--record", "old.baseline", "--no-texts") == 0
    assert not any(word in (tmp_path / "old.baseline").read_bytes() for word in (b"cat dog", b"lake"))
    assert run(*sides, "--candidate", "refusing.jsonl", "--output", "plain") == 1
    assert run("--baseline", "old.baseline", "--candidate", "refusing.jsonl", "--output", "kept") == 1
    plain, kept = (
        {of["metric"]: of["p"] for of in json.loads((tmp_path / name / "gate.json").read_text())["checks"]}
        for name in ("plain", "kept")
    )
    assert {"self_bleu", "copied_words", "copied_across"} == {*plain} - {*kept}
    assert all(plain[name] == p for name, p in kept.items())


def test_training_texts_are_recorded_with_the_baseline(run, tmp_path: Path, capsys) -> None:
    training = sentences(7, 40)
    write(tmp_path / "training.jsonl", training)
    write(tmp_path / "copying.jsonl", training[:20] + SAME[20:])
    sides = ("--baseline", "old.jsonl", "--reference", "human.jsonl", "--training", "training.jsonl")
    assert run(*sides, "--record", "old.baseline") == 0
    assert run(*sides, "--record", "digests.baseline", "--no-texts") == 0
    found = {}
    for name, words in {
        "plain": sides,
        "kept": ("--baseline", "old.baseline"),
        "digests": ("--baseline", "digests.baseline"),
    }.items():
        run(*words, "--candidate", "copying.jsonl", "--output", name)
        result = json.loads((tmp_path / name / "gate.json").read_text())
        found[name] = {of["metric"]: of for of in result["checks"]}
    assert found["plain"] == found["kept"]
    assert found["plain"]["copied_words"]["outcome"] == "fail"
    corrected = {"p_holm": found["digests"]["nndr_training"]["p_holm"]}  # for fewer tests
    assert found["digests"]["nndr_training"] == found["plain"]["nndr_training"] | corrected
    capsys.readouterr()
    assert run("--baseline", "old.baseline", "--candidate", "same.jsonl", *sides[-2:]) == 2
    assert "was recorded with its training texts" in capsys.readouterr().err


def test_a_changed_baseline_is_refused(run, tmp_path: Path, capsys) -> None:
    assert run("--baseline", "old.jsonl", "--reference", "human.jsonl", "--record", "old.baseline") == 0
    table = pq.read_table(tmp_path / "old.baseline")
    changed = table.set_column(
        table.column_names.index("text"), "text", [["edited", *table["text"].to_pylist()[1:]]]
    )
    pq.write_table(changed, tmp_path / "changed.baseline")
    pd.read_parquet(tmp_path / "old.baseline").to_parquet(tmp_path / "pandas.baseline")
    (tmp_path / "text.baseline").write_text("x")
    for name, said in {
        "changed": "checksum does not match",
        "pandas": "record",
        "text": "cannot be read as a recorded baseline",
    }.items():
        assert run("--baseline", f"{name}.baseline", "--candidate", "same.jsonl") == 2
        assert said in capsys.readouterr().err
    assert run("--baseline", "old.baseline", "--candidate", "same.jsonl", "--k", "3") == 2
    assert "was recorded with k = 4, and this is 3" in capsys.readouterr().err
    assert run("--baseline", "old.baseline", "--candidate", "same.jsonl", "--reference", "human.jsonl") == 2
    assert "was recorded with its references" in capsys.readouterr().err


def test_another_version_is_refused(run, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    assert run("--baseline", "old.jsonl", "--reference", "human.jsonl", "--record", "old.baseline") == 0
    monkeypatch.setattr("textgamut.scoring.baseline_file.__version__", "9.9.9")
    assert run("--baseline", "old.baseline", "--candidate", "same.jsonl") == 2
    assert "was recorded with textgamut = " in capsys.readouterr().err


def test_exit_codes(run, tmp_path: Path, capsys) -> None:
    sides = ("--baseline", "old.jsonl", "--reference", "human.jsonl")
    assert run(*sides, "--candidate", "refusing.jsonl") == 1
    strict = ("--margin", "precision=0.001")
    assert run(*sides, "--candidate", "same.jsonl", *strict) == 3
    assert "Cannot tell" in capsys.readouterr().out
    assert run(*sides, "--candidate", "same.jsonl", *strict, "--undecided", "pass") == 0
    assert run(*sides, "--candidate", "same.jsonl", *strict, "--undecided", "fail") == 1
    wide = ("precision=1", "recall=1", "vendi_ratio=1", "self_bleu=1", "mauve=1", "f_8=1", "f_1_8=1")
    assert run(*sides, "--candidate", "same.jsonl", "--margin", *wide, "unfinished_texts=1") == 0
    assert run(*sides, "--candidate", "same.jsonl", "--json", "--margin", *wide) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--candidate", "same.jsonl", "--margin", "recal=0.1"],
            "no metric 'recal'; nearest valid: 'recall'",
        ),
        (["--candidate", "same.jsonl", "--margin", "recall"], "is not of the form METRIC=NUMBER"),
        (["--candidate", "same.jsonl", "--margin", "text_words=1"], "--fail-on length"),
        (["--candidate", "same.jsonl", "--margin", "recall=-1"], "must be 0 or more"),
        (["--candidate", "same.jsonl", "--fail-on", "drif"], "no failure 'drif'"),
        (["--candidate", "same.jsonl", "--alpha", "0.7"], "alpha = 0.7"),
        (["--candidate", "few.jsonl"], "candidate: a gate needs more than 16 texts, found 12"),
        (["--candidate", "human.jsonl"], "are the same file"),
        (["--candidate", "copy.jsonl"], "most texts of the candidate are references, too"),
        (["--candidate", "many.jsonl"], "hardly belong together"),
        (["--candidate", "missing.jsonl"], "missing.jsonl"),
        ([], "--candidate is required"),
        (["--candidate", "same.jsonl", "--no-texts"], "--no-texts needs --record"),
        (["--candidate", "same.jsonl", "--looks", "3"], "--looks needs --history"),
        (["--candidate", "same.jsonl", "--record", "x.parquet"], "must end in .baseline"),
        (["--candidate", "same.jsonl", "--training", "missing.jsonl"], "missing.jsonl"),
        (["--candidate", "same.jsonl", "--bootstrap", "3"], "--bootstrap"),
    ],
)
def test_what_is_not_valid_has_one_clear_message_and_exit_code_2(run, tmp_path, capsys, words, said) -> None:
    write(tmp_path / "few.jsonl", SAME[:12])
    write(tmp_path / "copy.jsonl", HUMAN)
    write(tmp_path / "many.jsonl", sentences(9, 700))
    assert run("--baseline", "old.jsonl", "--reference", "human.jsonl", *words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


def test_a_crash_is_no_failed_gate(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textgamut.scoring.gate.run_gate", lambda *_: 1 / 0)
    assert run("--baseline", "old.jsonl", "--candidate", "same.jsonl") == 2


def test_a_history_spends_alpha_and_ends(run, tmp_path: Path, capsys) -> None:
    words = (
        "--baseline",
        "old.jsonl",
        "--reference",
        "human.jsonl",
        "--history",
        "looks.jsonl",
        "--looks",
        "2",
    )
    assert run(*words, "--candidate", "refusing.jsonl") == 1
    assert run(*words, "--candidate", "same.jsonl", "--output", "page") in (0, 3)
    looks = [json.loads(line) for line in (tmp_path / "looks.jsonl").read_text().splitlines()]
    assert [look["looks"] for look in looks] == [2, 2]
    assert looks[0]["failures"]
    page = (tmp_path / "page/index.html").read_text()
    assert "This is look 2 of 2" in page
    assert run(*words, "--candidate", "same.jsonl") == 2
    assert "all 2 looks are spent" in capsys.readouterr().err
    assert run(*words[:-1], "5", "--candidate", "same.jsonl") == 2
    assert "the plan must not change" in capsys.readouterr().err


def test_the_files_say_what_was_found_and_nothing_of_a_text_is_markup(run, tmp_path: Path) -> None:
    bad = "<script>alert(1)</script> **I cannot assist** @all https://x.y \x00 [a](b)"
    write(tmp_path / "bad.jsonl", [f"I'm sorry, but {bad} {row}" for row in range(20)] + SAME[20:])
    sides = ("--baseline", "old.jsonl", "--reference", "human.jsonl")
    assert run(*sides, "--candidate", "bad.jsonl", "--output", "out") == 1
    found = json.loads((tmp_path / "out/gate.json").read_text())
    assert found["outcome"] == "fail"
    suite = ET.fromstring((tmp_path / "out/junit.xml").read_bytes())  # noqa: S314 (own file)
    failed = {case.get("name") for case in suite if case.find("failure") is not None}
    assert {"refusals"} <= failed
    assert int(suite.get("failures", "0")) == len(
        [case for case in suite if case.find("failure") is not None]
    )
    summary = (tmp_path / "out/gate.md").read_text()
    assert "<script>" not in summary
    assert "**I cannot" not in summary
    assert "@all" not in summary
    assert "[a](b)" not in summary
    page = (tmp_path / "out/index.html").read_text()
    assert "<script>alert" not in page
    table = pd.read_csv(tmp_path / "out/checks.csv")
    assert set(table["outcome"].dropna()) >= {"fail"}


def test_logs_of_other_programs(run, tmp_path: Path) -> None:
    for name, texts in {"a": OLD, "b": REFUSING}.items():
        folder = tmp_path / name / "model"
        folder.mkdir(parents=True)
        lines = [
            {
                "doc_id": row,
                "doc": {"id": row},
                "arguments": [[f"p{row}", {}]],
                "resps": [[text]],
                "filter": "none",
            }
            for row, text in enumerate(texts)
        ]
        (folder / "samples_task_2026.jsonl").write_text("".join(f"{json.dumps(of)}\n" for of in lines))
    words = ("--baseline", "a", "--candidate", "b", "--reference", "human.jsonl", "--format", "lm-eval")
    assert run(*words, "--json") == 1
    (tmp_path / "b/samples_other.jsonl").write_text("{}\n")
    assert run(*words) == 2


def test_margins_of_unknown_families_are_refused(gate) -> None:
    with pytest.raises(ConfigError, match="cannot be computed by a gate"):
        gate(OLD, SAME, HUMAN, margins={"conditional_vendi": 0.1})
