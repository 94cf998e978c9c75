"""JSON schema of the configuration: ``python -m textgamut.config.schema`` prints ``config/schema.json``."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from textgamut.config.entries.registries import REGISTRIES
from textgamut.config.experiment import Experiment
from textgamut.config.loading import registry_adapter


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of all kinds of configuration file: ``schema.json#/$defs/<kind>``."""
    kinds = {"experiment": TypeAdapter(Experiment)}
    kinds |= {name: registry_adapter(kind) for name, kind in REGISTRIES.items()}
    files, definitions = TypeAdapter.json_schemas(
        [(name, "validation", adapter) for name, adapter in kinds.items()], ref_template="#/$defs/{model}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "textgamut configuration",
        "$defs": definitions["$defs"] | {name: schema for (name, _), schema in files.items()},
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in kinds],
    }


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))
