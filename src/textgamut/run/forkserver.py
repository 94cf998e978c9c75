"""Run the scripts of a local run in forks of a process that has imported the large libraries.

A small job spends most of its time on imports: torch alone takes seconds. The server imports them
once and forks for each script; everything else happens in the fork, which has the arguments, folder,
environment and output of the process that asks for it. ``python forkserver.py SOCKET SCRIPT`` asks, and ends
with the exit code of the script.
"""

# The process that asks runs this file without site-packages: it imports what is fast to import, nothing else.
from __future__ import annotations

import _signal  # type: ignore[import-not-found] # signal without its slow imports

if __name__ == "__main__":  # before slower imports: Ctrl-C is no reason for a traceback
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import json
import os
import socket
import sys

INTERRUPTED = 130
"""Exit code after Ctrl-C."""
FEWEST_JOBS = 10
"""With fewer jobs, the server's imports save no time (``benchmarks/forkserver.py``)."""
PREFIX, SOCKET = "textgamut-", "socket"
MODULES = (
    "textgamut.run.script",
    "snakemake.iocontainers",
    "pyarrow.dataset",
    "textgamut.datasets.table",
    "textgamut.tasks.drawing",
    "transformers.models.auto.modeling_auto",
    "transformers.modeling_utils",
    "transformers.generation.utils",
    "textgamut.features.embed",
    "textgamut.generation.shard",
    "textgamut.generation.engines.transformers",
    "textgamut.metrics.support_scores",
    "textgamut.metrics.divergence",
    "textgamut.metrics.ngram",
    "textgamut.metrics.likelihood_scores",
    "textgamut.inference.set_differences",
    "textgamut.inference.text_differences",
    "textgamut.inference.intervals",
    "textgamut.report.papers.shapes",
    "textgamut.report.tables",
    "transformers.models.auto.tokenization_auto",
    "transformers.quantizers.auto",
    "transformers.models.bert.modeling_bert",
    "transformers.models.bert.tokenization_bert",
    "transformers.models.llama.modeling_llama",
    "transformers.models.gemma3.modeling_gemma3",
    "matplotlib.backends.backend_svg",
    "matplotlib.backends.backend_agg",
    "networkx",
    "scipy.optimize",
    "sklearn.cluster",
    "spacy",
)
"""In the order in which a run needs them: jobs that ask in the meantime are served between two imports."""


def start(jobs: int) -> str | None:
    """Start the server; it ends with this process.

    Args:
        jobs: Number of jobs of the run.

    Returns:
        The beginning of a shell command that runs a script in a fork, in place of ``sys.executable``. None if
        scripts should be processes of their own: for few jobs; outside Linux, where libraries do not survive
        a fork; on a machine with GPUs, whose drivers do not; if scripts run in forks already; or if the path
        of the folder for temporary files is too long for a socket.
    """
    import atexit
    import shlex
    import shutil
    import subprocess
    import tempfile
    from pathlib import Path

    from textgamut.models.devices import cuda_driver

    _remove_left(tempfile.gettempdir())
    gpus = cuda_driver() is not None or Path("/dev/kfd").exists()  # NVIDIA, AMD
    if jobs < FEWEST_JOBS or sys.platform != "linux" or gpus or __file__ in sys.executable:
        return None
    folder = tempfile.mkdtemp(prefix=PREFIX)  # which other users cannot enter
    path = f"{folder}/{SOCKET}"
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            listener.bind(f"{folder}/listen"[: len(path)])
        except OSError:
            shutil.rmtree(folder)
            return None
        listener.listen(64)
        os.rename(listener.getsockname(), path)  # under this name, there is always a listener
        # Nobody writes to its standard input, a pipe that is closed when this process ends, even if killed.
        server = subprocess.Popen(  # noqa: S603 (this file)
            [sys.executable, "-P", __file__, str(listener.fileno())],
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
        )

    def end() -> None:
        if server.stdin:
            server.stdin.close()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return shlex.join([sys.executable, "-I", "-S", __file__, path])


def _remove_left(parent: str) -> None:
    """Remove the folders of servers that were killed together with their runs."""
    import contextlib
    import glob
    import stat

    for path in glob.glob(f"{glob.escape(parent)}/{PREFIX}*/{SOCKET}"):
        folder = os.path.dirname(path)
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            real = stat.S_ISDIR(os.lstat(folder).st_mode) and stat.S_ISSOCK(os.lstat(path).st_mode)
            if not real or os.lstat(folder).st_uid != os.geteuid():
                continue
            try:
                client.connect(path)
            except ConnectionRefusedError:  # nobody listens
                os.unlink(path)
                os.rmdir(folder)


def serve(listener: socket.socket) -> None:
    """Import the libraries, and fork for each connection until standard input is closed."""
    import importlib
    import select
    import signal

    # Read when torch is imported: waiting threads would keep the cores of other jobs busy.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks end without being waited for
    # Ctrl-C and the end of a terminal are for the forks and for Snakemake, with which the server ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    server = os.getpid()
    if os.fork() == 0:
        end_with_run(server, listener)
    left = list(MODULES)
    while True:
        ready, _, _ = select.select([listener], [], [], 0 if left else None)
        if ready:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.signal(signal.SIGINT, signal.default_int_handler)
                signal.signal(signal.SIGHUP, hangup)
                answer(connection)
            connection.close()
        elif left:
            try:
                importlib.import_module(left.pop(0))
            except Exception:  # noqa: S112 (the job that needs it fails with the reason)
                continue


def end_with_run(server: int, listener: socket.socket) -> None:
    """Wait until standard input is closed, then end the server, also during an import, and this fork."""
    import shutil
    import signal

    folder = os.path.dirname(listener.getsockname())
    listener.close()
    os.read(0, 1)
    if os.getppid() == server:  # it may have been killed
        os.kill(server, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def answer(connection: socket.socket) -> None:
    """Run one script as the process that asks would do, send its exit code, and end this fork."""
    import traceback

    code = 1
    try:
        _, files, _, _ = socket.recv_fds(connection, 1, 3)
        message = b"".join(iter(lambda: connection.recv(1 << 20), b""))
        for number, file in enumerate(files):
            os.dup2(file, number)
        try:
            script, folder, environment = json.loads(message)
        except ValueError:
            if files:
                print("a job was killed before it began", file=sys.stderr)
            os._exit(code)
        try:
            code = run(script, folder, environment)
        except KeyboardInterrupt:
            code = INTERRUPTED
        except BaseException:
            traceback.print_exc()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
            connection.sendall(bytes([code % 256]))
        except OSError:
            print(f"{os.path.basename(script)}: the process that waited for it was killed", file=sys.stderr)
    finally:
        os._exit(code)


def run(script: str, folder: str, environment: dict[str, str]) -> int:
    """Run a script; return its exit code."""
    import runpy

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    limit_threads(int(environment.get("OMP_NUM_THREADS", "0")))
    sys.argv = [script]
    sys.path.insert(0, os.path.dirname(script))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def limit_threads(count: int) -> None:
    """Use as many threads as the environment asks for, which libraries only read when they are imported."""
    import threadpoolctl

    if count:
        threadpoolctl.threadpool_limits(count)
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(count)


def ask(path: str, script: str) -> int:
    """Have a script run by the server; return its exit code, or 137 if the fork was killed."""
    import signal

    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
    except OSError:  # the server was killed, for example for its memory
        os.execv(sys.executable, [sys.executable, script])  # noqa: S606 (as Snakemake does)
    socket.send_fds(connection, [b"."], [0, 1, 2])
    connection.sendall(json.dumps([os.path.abspath(script), os.getcwd(), dict(os.environ)]).encode())
    connection.shutdown(socket.SHUT_WR)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the fork gets it, too, and is waited for
    code = connection.recv(1)
    return code[0] if code else 137


if __name__ == "__main__":
    if len(sys.argv) == 2:
        serve(socket.socket(fileno=int(sys.argv[1])))
    else:
        sys.exit(ask(*sys.argv[1:]))
