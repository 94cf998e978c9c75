"""The price of an experiment or a target in one sentence: GPU hours, on what, weights, licences, dollars."""

from __future__ import annotations

from textgamut.config.cells import Config
from textgamut.views.plan import Line, Plan
from textgamut.views.sums import decimal, size

GPUS = 8
"""Number of GPUs for which the time of all jobs is given."""


def price(config: Config, plan: Plan) -> str:
    """Return what the rest of an experiment costs.

    For example: "1,045 GPU hours (A100 80 GB, transformers): 5.4 days on 8 GPUs; 206 GB of weights; gated:
    Llama-2 (licence to accept)".
    """
    hours, busy = plan.totals["gpu_hours"], [line for line in plan.lines if line.gpu_hours]
    text = f"{decimal(hours.number)} GPU hours"
    gpus = filter(None, (_gpu(config, line) for line in busy))
    used = [*dict.fromkeys(gpus), *dict.fromkeys(config.models[line.model].engine for line in busy)]
    if brackets := "; ".join(filter(None, (", ".join(used), hours.estimated))):
        text += f" ({brackets})"
    together = hours.known / GPUS
    if together >= 1:
        text += f": {together / 24:,.1f} days" if together >= 24 else f": {together:.1f} hours"
        text += f" on {GPUS} GPUs"
    parts = [text]
    if plan.parts.jobs > plan.parts.jobs_done:
        parts.append(f"{decimal(plan.parts.core_hours)} core hours of support metrics")
    if plan.disk["weights"].known:
        parts.append(f"{size(plan.disk['weights'])} of weights")
    if plan.gated:
        parts.append(f"gated: {', '.join(plan.gated)} (licence to accept)")
    dollars = plan.dollars
    if dollars.known or dollars.unknown:
        parts.append(f"US$ {decimal(dollars)}")
    return "; ".join(parts)


def _gpu(config: Config, line: Line) -> str | None:
    """Return the GPU that the rate of a line is of."""
    if line.rate_from == "stated":
        return config.models[line.model].speed_on
    return line.rate_from.removeprefix("measured on ")
