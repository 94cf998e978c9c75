"""Run Snakemake for each line of standard input, ``[folder, arguments, python]``, in a fork of this process.

Importing Snakemake takes most of the time of a dry run, so it is imported once. Everything else, such as
reading the command line, the profile and the Snakefile, happens in a fork. Snakemake runs scripts with the
command ``python``. Prints ``[exit code, output]`` for each line.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import snakemake.cli

# Imported here, used by the forks.
import textgamut.config.loading
import textgamut.workflow.outputs
import textgamut.workflow.settings  # noqa: F401


def run(folder: str, arguments: list[str], python: str) -> tuple[int, str]:
    with tempfile.NamedTemporaryFile() as shown:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(shown.fileno(), 1)
            os.dup2(shown.fileno(), 2)
            os.chdir(folder)
            sys.argv = ["snakemake", *arguments]
            sys.executable = python
            code = 70
            try:
                snakemake.cli.main()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
                if isinstance(end.code, str):
                    print(end.code, file=sys.stderr)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status), Path(shown.name).read_text()


for line in sys.stdin:
    print(json.dumps(run(*json.loads(line))), flush=True)
