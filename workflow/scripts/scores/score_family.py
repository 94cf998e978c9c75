"""Score a cell by any family of metrics, as its declaration in the catalogue says."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pandas as pd

from textgamut.catalogue import FAMILIES
from textgamut.catalogue.family import (
    GRADER,
    GROUPS,
    JUDGE,
    LANGUAGE,
    MODEL,
    PER_TEXT,
    REFERENCE_GROUPS,
    TAGGER,
    TOKENIZER,
    Family,
)
from textgamut.config.entries.sources import OpenAISource, parse_source
from textgamut.files import read_array, read_arrays, read_table, write_json, write_scores
from textgamut.inference.intervals import add_intervals
from textgamut.inference.resamples import PARTS
from textgamut.language import check_defined, language_in
from textgamut.metrics.lengths import check_lengths
from textgamut.metrics.overlap import check_overlap
from textgamut.metrics.rows import (
    Scores,
    groups_of,
    groups_of_prompts,
    prompt_rows,
    prompts_of_texts,
    units_of_prompts,
    without_prompts,
)
from textgamut.metrics.support import Counts
from textgamut.metrics.support_parts import Measured, add_up
from textgamut.models.devices import lease
from textgamut.models.log_likelihood import ScoringModel
from textgamut.run.script import run
from textgamut.tasks.seeds import of_seed


@contextmanager
def load(
    settings: dict[str, Any],
    inputs: dict[str, Any],
    threads: int,
    leased: int = 0,
    source: str = "",
    batch_size: int = 1,
) -> Iterator[dict[str, Any]]:
    """Load what the family needs besides texts and features: name -> value."""
    reads = FAMILIES[settings["family"]].reads
    if MODEL in reads:
        with scoring_model(settings["scorer"], settings["dtype"], leased, batch_size, threads) as model:
            yield {MODEL: model}
    elif TOKENIZER in reads:
        from textgamut.models.checkpoints import load_tokenizer, prepare

        named = settings["tokenizer"]
        yield {TOKENIZER: load_tokenizer(prepare(parse_source(named["source"]))) if named else None}
    elif TAGGER in reads:
        from textgamut.metrics.entities import load_tagger
        from textgamut.sources.fetch import fetch

        yield {TAGGER: load_tagger(fetch(parse_source(settings["tagger"]["source"])))}
    elif JUDGE in reads:
        from textgamut.sources.chat_server import ServedModel

        yield {JUDGE: ServedModel(OpenAISource.model_validate_json(source)), "workers": batch_size}
    elif GRADER in reads:
        from textgamut.models.essay_model import load_essay_model

        yield {GRADER: load_essay_model(inputs["grader"].parent)}
    else:
        yield {}


@contextmanager
def scoring_model(
    named: dict[str, Any], dtype: str, leased: int, batch_size: int, threads: int
) -> Iterator[ScoringModel]:
    """Load a language model on the GPUs of the job, or on the CPU."""
    import torch

    from textgamut.models.adapters import prepare_adapter
    from textgamut.models.checkpoints import load_causal_model, load_tokenizer, prepare
    from textgamut.models.devices import choose_dtype, device_name

    torch.set_num_threads(threads)
    with lease(leased) as device:
        chosen = choose_dtype(dtype, device)
        folder = prepare(parse_source(named["source"]))
        tokenizer = load_tokenizer(folder, named["bos"])
        adapter = prepare_adapter(named["adapter"] and parse_source(named["adapter"]))
        network = load_causal_model(folder, chosen, device, spread=leased > 1, adapter=adapter)
        facts = {"device": device_name(device), "dtype": str(chosen), "batch_size": batch_size}
        yield ScoringModel(network, tokenizer, batch_size, facts)


def score_family(
    settings: dict[str, Any],
    cell: dict[str, Any],
    inputs: dict[str, Any],
    outputs: dict[str, Path],
    threads: int,
    loaded: dict[str, Any],
) -> dict[str, Any]:
    family = FAMILIES[settings["family"]]
    texts = read_table(inputs["texts"], ["id", "prompt_id", "text"])
    if not len(texts):  # no texts could be held out
        write_scores(outputs["scores"], {}, [], [], {} if "text_scores" in outputs else None)
        return {}
    language = language_in(texts)
    check_defined(f"metrics: {family.name}", language, family.languages)
    own = read(family, settings, cell["seed"], inputs, texts)
    values = {**settings, **own, **loaded, "threads": threads, LANGUAGE: language}
    found = []
    with lease(1, wait=False) if family.on_gpu else nullcontext():
        if GROUPS in family.reads:  # once for a cell: the family has the texts at hand
            references = [read_table(path, ["text"])["text"] for path in inputs["references"]]
            check_lengths(itertools.chain(*references), texts["text"], language)
            check_overlap(itertools.chain(*references), texts["text"])
        for place, draw in enumerate(settings.get("draws", [None])):
            of_draw = values | read_draw(family, settings, inputs, place)
            scores = family.score(of_draw)
            found.append((draw, scores, with_intervals(family, of_draw, scores)))
    rows = [cell | ({} if draw is None else {"draw": draw}) | row for draw, _, rows in found for row in rows]
    if family.of_draws:
        write_json(outputs["scores"], rows)
        return {"of_draws": [dict(scores.facts) for _, scores, _ in found]}
    [(_, scores, _)] = found
    write_scores(outputs["scores"], {}, rows, texts["id"], scores.columns)
    return dict(scores.facts)


def with_intervals(family: Family, values: dict[str, Any], scores: Scores) -> list[dict[str, Any]]:
    """Return the rows of a family's scores, with intervals where the settings ask for them."""
    if "intervals" not in values:
        return scores.rows
    own = {name: values[name] for name in PER_TEXT if name in family.reads and values.get(name) is not None}
    common = {name: value for name, value in values.items() if name not in PER_TEXT}
    return add_intervals(scores, family, own, common, values["units"], PARTS)


def read(
    family: Family, settings: dict[str, Any], seed: int, inputs: dict[str, Any], texts: pd.DataFrame
) -> dict[str, Any]:
    """Read what belongs to the cell: what the family reads -> its value."""
    values: dict[str, Any] = {"texts": list(texts["text"]), "prompt_ids": list(texts["prompt_id"])}
    values["units"] = units_of_prompts(values["prompt_ids"], family.of_prompts)
    if "features" in inputs:
        values["features"] = read_array(inputs["features"])
    if "prompts" in inputs:
        values |= {"prompts": None, "continuations": values["texts"]}
        for path in inputs["prompts"]:  # one, or none
            prompts = prompts_of_texts(texts, of_seed(read_table(path, ["id", "base"]), seed))
            values |= {"prompts": prompts, "continuations": without_prompts(texts["text"], prompts)}
    if "own_references" in inputs:
        values["own_references"] = None
        for path in inputs["own_references"]:  # one, or none
            references = read_table(path, ["id", "text"])
            rows = prompt_rows(texts["prompt_id"], references["id"])
            values["own_references"] = list(references["text"].iloc[rows])
            if "own_features" in inputs:
                values["paired_features"] = values["features"], read_array(inputs["own_features"])[rows]
    if "text_scores" in inputs:
        tables = [read_table(path, ["id"]).set_index("id") for path in inputs["text_scores"]]
        values["text_scores"] = {
            name: table[name].reindex(texts["id"]).to_numpy(dtype=float) for table in tables for name in table
        }
    if "references" in inputs and not family.of_draws:
        values["references"] = list(read_table(inputs["references"], ["text"])["text"])
    return values


def read_draw(family: Family, settings: dict[str, Any], inputs: dict[str, Any], place: int) -> dict[str, Any]:
    """Read what belongs to a draw of references: what the family reads -> its value."""
    values: dict[str, Any] = {}
    if family.of_draws:
        values["reference_features"] = read_array(inputs["reference_features"][place])
    if parts := inputs.get("parts"):
        own = len(parts) // len(settings["draws"])
        values["measured"] = measured(parts[place * own : (place + 1) * own], settings["k"])
    if GROUPS in family.reads:
        columns = settings.get(GROUPS, [])
        values |= {GROUPS: {}, REFERENCE_GROUPS: {}}
        for path in inputs["dataset"]:  # one, or none
            prompt_ids = read_table(inputs["texts"], ["prompt_id"])["prompt_id"]
            values[GROUPS] = groups_of_prompts(read_table(path, ["id", *columns]), prompt_ids, columns)
            values[REFERENCE_GROUPS] = groups_of(read_table(inputs["references"][place], columns), columns)
    return values


def measured(parts: list[Path], k: int) -> Measured:
    """Read the reduced features and the counts of all blocks against a draw, and add these up."""
    reduced, *others = (read_arrays(path) for path in parts)
    counts = [Counts(**of) for of in others]
    reference, generated = reduced["reference"], reduced["generated"]
    return Measured(reference, generated, add_up(reference, generated, k, counts))


if __name__ == "__main__":
    run(score_family, load)
