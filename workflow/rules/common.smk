"""What the rules share: functions of the package, bound to the configuration.

The answers to all questions of the rules are in :mod:`textgamut.workflow`: paths, inputs, settings, resources,
outputs. A rule's settings are one dictionary, ``params.settings``; a change of it reruns the rule's jobs.
"""

from functools import partial

from textgamut.workflow import inputs, outputs, paths, resources, settings
from textgamut.workflow.families import essays_file


def bound(function, **arguments):
    """Return a function of a job's wildcards, from one of the configuration and the wildcards."""
    return partial(function, CONFIG, **arguments)


def request_gpus(count):
    """Return the resources that request GPUs, in the form that the profile's `gpu_form` names."""
    form = (workflow.resource_settings.default_resources or {}).get("gpu_form")
    return resources.gpus(count, form.raw if form else "gpu")


def in_report(path, caption, category, what):
    """Mark an output as part of Snakemake's report."""
    return report(
        path,
        caption=f"../report/{caption}.rst",
        category=category,
        labels={"what": what},
    )


def ranking_outputs():
    """Return the files of a ranking as outputs; some of them are part of the report."""
    files = {name: f"{paths.RANKING}/{file}" for name, file in outputs.RANKING.items()}
    shown = {
        name: in_report(files[name], "ranking", "{ranked}", what)
        for name, what in outputs.RANKING_CAPTIONS.items()
    }
    return files | shown
