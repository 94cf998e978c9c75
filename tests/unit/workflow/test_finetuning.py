"""Fine-tuned models in an experiment: what their jobs read, and what an edit of their entry changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from helpers import ROOT

from textgamut.config.cells import Config
from textgamut.config.entries.models import Model
from textgamut.config.loading import load_config
from textgamut.errors import TextgamutError
from textgamut.workflow import inputs, resources, settings
from textgamut.workflow.revisions import revision_of
from textgamut.workflow.targets import target_settings

BART = SimpleNamespace(
    model="bart-base-wiki", task="old", decoding="top-k-20-p-1-t-0.9", seed="1", tokens="512"
)


@pytest.fixture(scope="module")
def nw() -> Config:
    return load_config(ROOT / "config/papers/nw.yaml")


def changed(config: Config, **fields: Any) -> Config:
    model = config.models[BART.model]
    entry = model.model_dump() | {"source": model.source.model_dump() | fields}
    return config._replace(models=config.models | {BART.model: Model.model_validate(entry)})


def test_its_jobs_form_a_chain_from_the_base_to_the_texts(nw: Config) -> None:
    assert inputs.training_base(nw, BART) == "data/models/bart-base.json"
    assert inputs.training_dataset(nw, BART) == "data/old-wiki/texts.parquet"
    assert inputs.texts_in_tasks(nw, BART) == [
        "data/old/prompts.parquet",
        "data/old/draw0/references.parquet",
    ]
    assert inputs.given_prompts(nw, BART) == ["data/new/prompts.parquet"]
    assert inputs.model_files(nw, BART) == [
        "data/models/bart-base-wiki.finetuned/checkpoint/model.safetensors"
    ]
    folder = {"kind": "file", "path": "data/models/bart-base-wiki.finetuned/checkpoint", "sha256": None}
    for rule in ("fetch_model", "check_prompts"):
        assert getattr(settings, rule)(nw, BART)["source"] == folder
    assert settings.generate_texts(nw, BART)["model"]["source"] == folder
    assert '"kind":"file"' in resources.model_source(nw, BART)
    with pytest.raises(ValueError, match="gpt2-xl is not fine-tuned"):
        inputs.training_dataset(nw, SimpleNamespace(model="gpt2-xl"))


def test_settings_hold_what_the_weights_depend_on(nw: Config) -> None:
    trained, drawn = settings.finetune_model(nw, BART), settings.draw_training_texts(nw, BART)
    assert trained["revision"] == revision_of("finetune_model")
    assert drawn == {
        "dataset": "old-wiki",
        "n": 2000,
        "seed": 0,
        "revision": revision_of("draw_training_texts"),
    }
    for fields in ({"epochs": 3}, {"learning_rate": 1e-4}, {"batch_size": 16}, {"max_tokens": 256}):
        after = changed(nw, **fields)
        assert settings.finetune_model(after, BART) != trained
        assert settings.draw_training_texts(after, BART) == drawn
        assert settings.generate_texts(after, BART) == settings.generate_texts(nw, BART)  # by the weights
    assert settings.finetune_model(changed(nw, n=10), BART) == trained  # by the texts
    assert settings.draw_training_texts(changed(nw, n=10), BART) != drawn


def test_gpus_share_a_step_evenly(nw: Config) -> None:
    entry = nw.models[BART.model].model_dump() | {"gpus": 3}
    with pytest.raises(ValueError, match=r"source\.batch_size: 8 texts cannot be shared evenly by 3 GPUs"):
        Model.model_validate(entry)


def test_outside_of_a_run_there_is_no_checkpoint(nw: Config) -> None:
    with pytest.raises(TextgamutError, match="fine-tuned by a run of the workflow: give the folder"):
        _ = nw.models[BART.model].checkpoint


@pytest.mark.parametrize(("model", "label"), [("bart-base-wiki", "BART"), ("t5-base-wiki", "T5")])
def test_its_row_is_the_one_of_the_appendix_table(nw: Config, model: str, label: str) -> None:
    table = target_settings(nw, "table_appendix")
    assert table["labels"][model] == label
    [printed] = [row for row in table["published"]["rows"] if row["model"] == label]
    cells = [cell for cell in table["cells"] if cell[1] == model and cell[0] == printed["window"]]
    [(window, _, decoding, _)] = [cell for cell in cells if f"top-k-{printed['top_k']}-" in cell[2]]
    parameters = {name: table["decodings"][decoding][name] for name in ("top_p", "top_k", "temperature")}
    assert printed.items() >= parameters.items()
    size = nw.size(SimpleNamespace(task=window, model=model, decoding=decoding))
    assert (size.n, size.completions, size.keep) == (2000, 20, 10)
