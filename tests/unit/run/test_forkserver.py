"""Scripts in forks of one process: like processes of their own, and gone with the run that started them."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import GIVE_UP, processes_of

from textgamut.models.devices import cuda_driver
from textgamut.run import forkserver

STARTER = """
import sys
from textgamut.run import forkserver
print(forkserver.start(forkserver.FEWEST_JOBS), flush=True)
sys.stdin.read()
"""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or cuda_driver() is not None, reason="scripts are processes of their own"
)


@pytest.fixture(scope="module")
def command() -> Iterator[str]:
    """The command of a server."""
    with started() as process:
        yield command_of(process)
        process.kill()


def started(
    temporary: Path | None = None, modules: Path | None = None, **options: Any
) -> subprocess.Popen[str]:
    """Return a process that has started a server."""
    command = [sys.executable, "-c", STARTER]
    environment = os.environ | ({"TMPDIR": str(temporary)} if temporary else {})
    if modules:
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, [str(modules), os.environ.get("PYTHONPATH")])
        )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, **pipes, text=True, env=environment, **options)


def command_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def run(
    command: str, script: Path, text: str, folder: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    script.write_text(text)
    return subprocess.run(
        [*shlex.split(command), script],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


def test_a_script_has_the_folder_environment_and_output_of_the_one_who_asks(
    command: str, tmp_path: Path
) -> None:
    told = (
        "import os, sys, helper\n"
        "print(os.getcwd(), os.environ['LATE'], sys.argv, __name__, helper.VALUE)\n"
        "print('wrong', file=sys.stderr)\n"
        f"assert sys.executable == {sys.executable!r}\n"
    )
    (tmp_path / "helper.py").write_text("VALUE = 7")
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    path = tmp_path / "script.py"
    done = run(command, path, told, folder, LATE="yes")
    assert (done.returncode, done.stderr) == (0, "wrong\n")
    assert done.stdout == f"{folder} yes {[str(path)]} __main__ 7\n"


@pytest.mark.parametrize(
    ("text", "code", "error"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('no such text')", 1, "no such text\n"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, ""),
    ],
)
def test_the_exit_code_is_that_of_the_script(
    command: str, tmp_path: Path, text: str, code: int, error: str
) -> None:
    done = run(command, tmp_path / "script.py", text)
    assert (done.returncode, done.stderr) == (code, error)


def test_a_traceback_is_shown(command: str, tmp_path: Path) -> None:
    done = run(command, tmp_path / "script.py", "1 / 0")
    assert done.returncode == 1
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


@pytest.mark.slow
def test_a_fork_uses_as_many_threads_as_it_is_given(command: str, tmp_path: Path) -> None:
    text = (
        "import numpy, threadpoolctl, torch\n"
        "print(torch.get_num_threads(), {pool['num_threads'] for pool in threadpoolctl.threadpool_info()})\n"
    )
    for count in ("2", "1"):
        done = run(command, tmp_path / "script.py", text, OMP_NUM_THREADS=count, OPENBLAS_NUM_THREADS=count)
        assert done.stdout == f"{count} {{{count}}}\n", done.stderr


def test_the_server_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    with started() as process:
        command = command_of(process)
        server = int(run(command, path, "import os; print(os.getppid())").stdout)
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while Path(f"/proc/{server}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    alone = run(command, path, "import textgamut; print(7)")
    assert alone.stdout == "7\n", "without a server, a script is a process of its own"


SLOW_IMPORT = f"""
import importlib, time
given = importlib.import_module
importlib.import_module = (
    lambda name, *a: time.sleep(600) if name == {forkserver.MODULES[0]!r} else given(name, *a)
)
"""


@pytest.mark.parametrize("end", ["SIGKILL", "SIGINT"])
def test_the_server_ends_at_once_while_it_imports(tmp_path: Path, end: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW_IMPORT)
    with started(None, tmp_path, start_new_session=True) as process:  # tmp_path is too long for a socket
        folder = Path(shlex.split(command_of(process))[-1]).parent
        assert folder.name.startswith(forkserver.PREFIX)
        session = process.pid
        time.sleep(0.5)  # it imports by now
        process.send_signal(getattr(signal, end))
    deadline = time.monotonic() + 60  # of the 600 seconds of the import
    while folder.exists() or processes_of(session):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_who_is_killed_while_asking_harms_nobody(command: str, tmp_path: Path) -> None:
    for sent in (b"", b".", b".[1", b"._", b".[1, 2]", b'.{"a": 1}'):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(shlex.split(command)[-1])
            connection.sendall(sent)
    assert run(command, tmp_path / "script.py", "print(7)").stdout == "7\n"


@pytest.mark.parametrize("signals", ["SIGHUP", "SIGKILL"])
def test_nothing_is_left_in_the_folder_for_temporary_files(tmp_path: Path, signals: str) -> None:
    """Of a killed run, its server removes the folder; of a run killed with its server, the next run does."""
    number = getattr(signal, signals)
    (tmp_path / "textgamut-gpus").mkdir()
    (tmp_path / "textgamut-mine").mkdir()
    (tmp_path / "textgamut-mine/socket").touch()
    with started(tmp_path, start_new_session=True) as process:
        command = command_of(process)
        assert run(command, tmp_path / "script.py", "print(7)").stdout == "7\n"
        path = Path(shlex.split(command)[-1])
        os.killpg(process.pid, number) if number == signal.SIGHUP else process.send_signal(number)
    wait_until_gone(path.parent)
    with started(tmp_path, start_new_session=True) as process:
        left = Path(shlex.split(command_of(process))[-1])
        os.killpg(process.pid, signal.SIGKILL)
    assert left.exists()
    with started(tmp_path) as first, started(tmp_path) as second:
        paths = [Path(shlex.split(command_of(one))[-1]) for one in (first, second)]
        assert not left.parent.exists()
        assert all(path.exists() for path in paths), "those of others that run are left alone"
        for one in (first, second):
            assert one.stdin
            one.stdin.close()
    for path in paths:
        wait_until_gone(path.parent)
    assert {path.name for path in tmp_path.iterdir()} == {"script.py", "textgamut-gpus", "textgamut-mine"}


def wait_until_gone(path: Path) -> None:
    deadline = time.monotonic() + 60
    while path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_job_whose_process_is_killed_says_so_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("print('runs', flush=True); import time; time.sleep(0.5)")
    shown = tmp_path / "shown"
    with started(tmp_path) as process, shown.open("wb") as output:
        command = [*shlex.split(command_of(process)), str(tmp_path / "slow.py")]
        client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=output)
        assert client.stdout
        assert client.stdout.readline() == b"runs\n"
        client.kill()
        client.wait()
        deadline = time.monotonic() + 60
        while not shown.read_text().endswith("\n"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.kill()
    assert shown.read_text() == "slow.py: the process that waited for it was killed\n"


def test_an_interrupted_script_shows_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("print('runs', flush=True); import time; time.sleep(600)")
    with started(tmp_path, start_new_session=True) as process:
        command = [*shlex.split(command_of(process)), str(tmp_path / "slow.py")]
        client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert client.stdout
        assert client.stdout.readline() == b"runs\n"
        client.send_signal(signal.SIGINT)
        os.killpg(process.pid, signal.SIGINT)
        assert client.communicate(timeout=GIVE_UP) == (b"", b"")
        assert client.returncode == 130
        process.kill()


def test_whoever_is_interrupted_while_importing_shows_no_traceback() -> None:
    options = ["-I", "-S", "-X", "importtime"]
    command = [sys.executable, *options, forkserver.__file__, "/none/socket", "/none.py"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    while "enum" not in process.stderr.readline():  # the first of the modules that json imports
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert "Traceback" not in process.communicate(timeout=GIVE_UP)[1]


def test_where_there_is_no_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = tmp_path / "textgamut-left"
    left.mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{left}/socket")
    assert forkserver.start(forkserver.FEWEST_JOBS - 1) is None
    assert not left.exists(), "what a killed run has left is removed in any case"
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", f"python -I -S {forkserver.__file__} socket")
        assert forkserver.start(100) is None
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    assert forkserver.start(100) is None
    assert not list(long.iterdir())
