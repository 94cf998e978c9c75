"""Run the scripts of jobs in forks of a process that has imported the large libraries.

Most of the time of a small job is that of its imports: torch alone takes seconds. The server imports them
once and forks for each script; everything else happens in the fork. ``{this file} serve SOCKET`` is the
server, ``{this file} SOCKET SCRIPT`` runs a script like ``python SCRIPT`` and ends with its exit code.
"""

import array
import importlib
import json
import os
import runpy
import select
import signal
import socket
import struct
import sys
import tempfile
from pathlib import Path

MODULES = [
    "faiss", "matplotlib.backends.backend_svg", "networkx", "pandas", "pyarrow.parquet", "scipy.optimize",
    "scipy.special", "sympy", "transformers.models.bert.modeling_bert",
    "transformers.models.bert.tokenization_bert", "transformers.models.gemma3.modeling_gemma3",
    "transformers.models.llama.modeling_llama", "textgamut.metrics.scores.support",
    "textgamut.report.papers.shapes",
]  # fmt: skip
CODE = struct.Struct("i")


def serve(path: str) -> None:
    """Fork for each connection; end when standard input is closed."""
    for name in MODULES:
        importlib.import_module(name)
    import tiny
    import torch
    from transformers import AutoModel, AutoModelForCausalLM

    # Loading a checkpoint and generating import modules of their own.
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = tiny.write_checkpoint(Path(folder), "gpt2")
        AutoModel.from_pretrained(checkpoint)
        model = AutoModelForCausalLM.from_pretrained(checkpoint)
        model.generate(torch.tensor([[1, 2]]), max_new_tokens=1)

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks end without being waited for
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    print("ready", flush=True)
    while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os._exit(run(connection))
        connection.close()


def run(connection: socket.socket) -> int:
    """Run one script with the client's arguments, folder, environment and output; return its exit code."""
    message, ancillary, _, _ = connection.recvmsg(1 << 20, socket.CMSG_SPACE(3 * array.array("i").itemsize))
    files = array.array("i", ancillary[0][2])
    for number, file in enumerate(files):
        os.dup2(file, number)
    while not message.endswith(b"\n"):
        message += connection.recv(1 << 20)
    script, folder, environment = json.loads(message)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [script]
    sys.path[0] = os.path.dirname(script)
    code = 1
    try:
        runpy.run_path(script, run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(CODE.pack(code))
    return code


def ask(path: str, script: str) -> int:
    """Have a script run by the server."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    message = json.dumps([os.path.abspath(script), os.getcwd(), dict(os.environ)]).encode() + b"\n"
    files = array.array("i", [0, 1, 2]).tobytes()
    sent = connection.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
    connection.sendall(message[sent:])
    answer = connection.recv(CODE.size)
    return CODE.unpack(answer)[0] if len(answer) == CODE.size else 137  # the fork was killed


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        sys.exit(ask(sys.argv[1], sys.argv[2]))
