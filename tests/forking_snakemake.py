"""Run Snakemake for each line of standard input in a fork: ``[folder, arguments, python, environment]``.

Imports take most of the time of a dry run, so everything that a dry run of the demo imports is imported once.
Everything else, such as reading the command line, the profile and the Snakefile, happens in a fork. Snakemake
runs scripts with the command ``python``. Prints ``[exit code, output]`` for each line.
"""

import contextlib
import importlib
import json
import os
import sys
import tempfile
from pathlib import Path

import snakemake.cli


def run(
    folder: str, arguments: list[str], python: str, environment: dict[str, str], modules: str = os.devnull
) -> tuple[int, str]:
    """Run Snakemake in a fork, and write the names of the modules that it has imported to a file."""
    with tempfile.NamedTemporaryFile() as shown:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(shown.fileno(), 1)
            os.dup2(shown.fileno(), 2)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
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
                Path(modules).write_text("\n".join(sys.modules))
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status), Path(shown.name).read_text()


with tempfile.NamedTemporaryFile() as names:
    run(str(Path(__file__).parents[1]), ["-n"], sys.executable, dict(os.environ), names.name)
    for name in Path(names.name).read_text().split():
        with contextlib.suppress(Exception):
            importlib.import_module(name)

for line in sys.stdin:
    print(json.dumps(run(*json.loads(line))), flush=True)
