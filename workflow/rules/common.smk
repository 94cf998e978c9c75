"""Helper functions for the rules.

Paths, inputs, settings, resources and outputs are defined in :mod:`textgamut.workflow`. The settings of a rule are
a single dictionary, ``params.settings``; changing it reruns the rule's jobs.
"""

import json
from functools import partial
from types import SimpleNamespace

from textgamut.catalogue import FAMILIES
from textgamut.report.papers.target_page import printed_name
from textgamut.workflow import (
    inputs,
    outputs,
    paths,
    resources,
    settings,
    targets,
    task_results,
)
from textgamut.views import papers
from textgamut.workflow.families import essays_file
from textgamut.workflow.target_files import target_files


def bound(function, **arguments):
    """Bind the configuration to a function of the configuration and a job's wildcards."""
    return partial(function, CONFIG, **arguments)


def request_gpus(count):
    """Return the resources that request GPUs, in the form given by the profile's `gpu_form`."""
    form = (workflow.resource_settings.default_resources or {}).get("gpu_form")
    return resources.gpus(count, form.raw if form else "gpu")


def local_cores():
    """Return the cores of a run on this machine; None on a cluster."""
    local = workflow.local_exec and workflow.is_main_process
    return workflow.resource_settings.cores if local else None


def cluster_job(job):
    """Return what identifies the cluster job that runs a job; None for a job that runs here."""
    if workflow.local_exec or job.is_local:
        return None
    return workflow.dag.get_job_group(job) or job


def in_report(path, caption, category, what):
    """Include an output in Snakemake's report."""
    return report(
        path,
        caption=f"../report/{caption}.rst",
        category=category,
        labels={"what": what},
    )


def escape_report():
    """Escape `<` in the JSON of Snakemake's report, which stands in its scripts: a label could end one of them."""
    import snakemake.report.html_reporter

    def dumps(content):
        return json.dumps(content).replace("<", "\\u003c")

    for name, loaded in list(sys.modules.items()):
        if name.startswith("snakemake.report.html_reporter") and hasattr(
            loaded, "json"
        ):
            loaded.json = SimpleNamespace(dumps=dumps)


def target_outputs(target):
    """Return the output files of a table or figure of a paper; Snakemake's report includes its page."""
    files = targets.target_outputs(CONFIG, target)
    title = CONFIG.experiment.targets[target].title
    # With a word joiner after it, a brace begins no wildcard.
    what = f"{printed_name(target)}: {title}".replace("{", "{\u2060")
    return files | {
        "html": in_report(files["html"], "target", CONFIG.experiment.name, what)
    }


def write_paper_page(shown):
    """Write the index page of the tables and figures; an error is only a warning, since a run has ended."""
    if not CONFIG.experiment.targets:
        return
    try:
        page = papers.write_index(CONFIG)
        if shown:
            logger.info(f"Tables and figures: {page}")
    except Exception as error:
        logger.warning(f"the index page is not written: {error}")


def result_outputs(result):
    """Return the output files of a task's table or figure, one of which is included in Snakemake's report."""
    caption, what = result.report
    shown = "html" if "html" in result.paths else "svg"
    page = in_report(result.paths[shown], caption, "{task}", what)
    return result.paths | {shown: page}


def gate_outputs():
    """Return the output files of a gate; Snakemake's report includes its page."""
    files = outputs.gate_outputs()
    return files | {"page": in_report(files["page"], "gate", "{paper}", "gate {gate}")}


def ranking_outputs():
    """Return the output files of a ranking, some of which are included in Snakemake's report."""
    files = {name: f"{paths.RANKING}/{file}" for name, file in outputs.RANKING.items()}
    shown = {
        name: in_report(files[name], "ranking", "{ranked}", what)
        for name, what in outputs.RANKING_CAPTIONS.items()
    }
    return files | shown
