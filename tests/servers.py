"""Real servers on loopback, as processes, and a proxy that spoils what they answer."""

from __future__ import annotations

import email.utils
import http.client
import json
import math
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from helpers import GIVE_UP

# --- literal answers ------------------------------------------------------------------------------------


class ScriptedServer:
    """Sends each connection the next answer, byte for byte, and closes it; the last answer is repeated.

    An answer is bytes, or a function that writes to the socket.
    """

    def __init__(self, *answers: bytes | Callable[[socket.socket], None]) -> None:
        self.answers = list(answers)
        self.requests: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def stop(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):  # closed
            while True:
                connection, _ = self._listener.accept()
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                threading.Thread(target=self._answer, args=(connection, answer), daemon=True).start()

    def _answer(self, connection: socket.socket, answer: bytes | Callable[[socket.socket], None]) -> None:
        with suppress(OSError), connection:  # hung up
            head = b""
            while b"\r\n\r\n" not in head:
                if not (received := connection.recv(2**16)):
                    return
                head += received
            text = head.decode("latin-1")
            self.requests.append(text)
            if callable(answer):
                answer(connection)
            else:
                connection.sendall(answer)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(2**16):  # closing with unread bytes would reset the connection
                pass


# --- processes ------------------------------------------------------------------------------------------

# The pipe at standard input closes when the test process ends, by whatever signal: then the group ends too.
# `$1` is the signal at which the command waits for its own children.
GUARD = 'end=$1; shift; trap : INT TERM; "$@" </dev/null & read -r _; kill -s "$end" 0; wait'


class Server:
    """A process group that listens on loopback."""

    def __init__(
        self, command: list[str], log: Path, ready_url: str, end: str = "TERM", **environment: str
    ) -> None:
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                ["/bin/sh", "-c", GUARD, "guard", end, *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | environment,
                start_new_session=True,
            )
        try:
            self._wait(command[0], log, ready_url)
        except BaseException:
            self.stop()
            raise

    def _wait(self, name: str, log: Path, url: str) -> None:
        deadline = time.monotonic() + GIVE_UP
        with httpx.Client(trust_env=False, timeout=GIVE_UP) as client:
            while time.monotonic() < deadline:
                try:
                    client.get(url).raise_for_status()
                    return
                except httpx.HTTPError:
                    time.sleep(0.02)
        raise RuntimeError(f"{name} does not answer at {url}; its output ends: {log.read_text()[-2000:]}")

    def stop(self) -> None:
        """End every process of the group, and see them gone."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:  # one that hangs
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def free_port() -> int:
    """Return a port of the loopback address on which nothing listens now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


# --- faults ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """A request as the proxy saw it."""

    method: str
    target: str
    """Path and query."""
    body: bytes
    headers: dict[str, str]
    """By lower-case name."""
    time: float
    """`time.monotonic()` at its arrival."""
    fault: str
    """What was done to its answer."""


@dataclass(frozen=True)
class Answer:
    """What stands before the body, and the body, of what the server behind the proxy says."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class FaultProxy:
    """An HTTP/1.1 proxy on loopback before one server; it spoils answers by a script, one entry a request.

    ==================  ====================================================================================
    ``pass``            the server's answer
    ``timeout``         no answer until the client hangs up, at most `patience` seconds
    ``reset``           the connection is reset at once
    ``cut``             the connection closes after half of the body that Content-Length promises
    ``slow``            the body comes byte by byte, one a `pause`; cut after `patience` seconds
    ``truncated-json``  half of the JSON, with the length of the half
    ``wrong-encoding``  JSON with bytes that are not the UTF-8 that it claims
    ``html``            an error page with status 200
    ``429``             with Retry-After: `retry_after` seconds
    ``429-date``        with Retry-After: the date in `retry_after` seconds
    ``503``             without Retry-After
    ``503-retry``       with Retry-After: `retry_after` seconds
    ``maxlag``          MediaWiki's own refusal when its replicas lag, with Retry-After: `retry_after`
    ``forever-continue``  the server's answer with the first ``continue`` that was seen, again and again
    ``huge``            a JSON string that goes on until the client hangs up, at most 1 GiB
    ``gzip-bomb``       2 MB that decompress to 2 GiB of zeros
    ``redirect-http``   a redirect to http://example.com
    ``401``             an API's own refusal of a key, which it repeats in full
    ``429-quota``       OpenAI's refusal when the credit is spent
    ``400-max-tokens``  OpenAI's refusal of ``max_tokens`` by its newer models; a request without it passes
    ``error-200``       an API's error with status 200
    ==================  ====================================================================================

    Only ``pass``, ``cut``, ``slow``, ``truncated-json``, ``wrong-encoding`` and ``forever-continue`` ask the
    server. After the script, all is passed.

    Args:
        upstream: URL of the server's endpoint.
        faults: The script; an iterator may be endless, and the attribute may be set anew at any time.

    Attributes:
        url: The same endpoint through the proxy.
        requests: What came, in the order of arrival.
        retry_after: Seconds that the polite refusals ask for.
        patience: Seconds after which a fault ends that waits for the client.
        pause: Seconds between the bytes of ``slow``.
    """

    def __init__(self, upstream: str, faults: Iterable[str] = ()) -> None:
        self.upstream = urlsplit(upstream)
        self.retry_after = 1
        self.patience = 60.0
        self.pause = 1.0
        self.requests: list[Request] = []
        self.stopped = threading.Event()
        self._script = iter(faults)
        self._lock = threading.Lock()
        self._continue: dict[str, Any] | None = None
        self._server = _ProxyServer(self)
        self.url = self.upstream._replace(netloc=f"127.0.0.1:{self._server.server_port}").geturl()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def faults(self) -> Iterator[str]:
        """What is left of the script."""
        return self._script

    @faults.setter
    def faults(self, faults: Iterable[str]) -> None:
        with self._lock:
            self._script = iter(faults)
            self._continue = None

    def stop(self) -> None:
        """Close every connection and end the threads."""
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def settle(self) -> None:
        """Wait until the requests of clients that have ended are in ``requests``, also of a killed one."""
        deadline = time.monotonic() + GIVE_UP
        connections = self._server.connections
        with socket.create_connection(self._server.server_address[:2]) as last:
            while last.getsockname() not in list(connections.values()):
                assert time.monotonic() < deadline
                time.sleep(0.01)
        while connections:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def see(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> str:
        """Record a request and return the fault that is its."""
        now = time.monotonic()
        with self._lock:
            fault = next(self._script, "pass")
            self.requests.append(Request(method, target, body, headers, now, fault))
        return fault

    def repeated(self, token: dict[str, Any] | None) -> dict[str, Any]:
        """Return the token of the first answer that was spoilt with ``forever-continue``."""
        with self._lock:
            self._continue = self._continue or token or {"continue": "-||"}
            return self._continue


class JudgeServer(ThreadingHTTPServer):
    """Answers a chat as `said` says, after a pause that turns the order of the answers around."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _JudgeHandler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.said: Callable[[str], str] = lambda _: ""
        self.pause: Callable[[str], float] = lambda _: 0.0
        self.asked: list[dict] = []
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()


class _JudgeHandler(BaseHTTPRequestHandler):
    server: JudgeServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server, prompt = self.server, body["messages"][0]["content"]
        with server.lock:
            server.asked.append(body)
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
        time.sleep(server.pause(prompt))
        with server.lock:
            server.at_once -= 1
        choice = {"message": {"role": "assistant", "content": server.said(prompt)}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 20}
        answer = json.dumps({"model": "judge", "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


def random_faults(seed: int, kinds: list[str], share: float, count: int) -> list[str]:
    """Draw a script: of `count` requests, each one is spoilt with probability `share`."""
    draw = random.Random(seed)
    return [draw.choice(kinds) if draw.random() < share else "pass" for _ in range(count)]


class _ProxyServer(ThreadingHTTPServer):
    """Knows its connections, so that it can close them."""

    daemon_threads = False
    request_queue_size = 64

    def __init__(self, proxy: FaultProxy) -> None:
        self.proxy = proxy
        self.connections: dict[socket.socket, tuple[str, int]] = {}
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections[request] = client_address
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.pop(request, None)
        super().shutdown_request(request)

    def server_close(self) -> None:
        for connection in list(self.connections):
            with suppress(OSError):  # it is closed already
                connection.shutdown(socket.SHUT_RDWR)
        super().server_close()  # waits for the threads

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a client that hangs up is no error here
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _ProxyServer

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        self.content = self.rfile.read(length)
        if len(self.content) < length:  # a killed client: the server would wait for the rest
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        fault = self.server.proxy.see(self.command, self.path, self.content, headers)
        FAULTS[fault](self)

    do_POST = do_GET  # noqa: N815

    def ask(self, plain: bool = True) -> Answer:
        """Fetch the server's answer; `plain`: uncompressed, to be changed."""
        proxy = self.server.proxy
        own = {"host", "connection", "transfer-encoding"} | ({"accept-encoding"} if plain else set())
        headers = {name: value for name, value in self.headers.items() if name.lower() not in own}
        if plain:
            headers["Accept-Encoding"] = "identity"
        connection = http.client.HTTPConnection(
            proxy.upstream.hostname or "", proxy.upstream.port, timeout=GIVE_UP
        )
        try:
            connection.request(self.command, self.path, self.content or None, headers)
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            return Answer(
                502, [("Content-Type", "text/plain")], f"no answer behind the proxy: {error}".encode()
            )
        finally:
            connection.close()
        hop = {"connection", "transfer-encoding", "content-length", "date", "server", "keep-alive", "host"}
        kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in hop]
        return Answer(answer.status, kept, body)

    def head(self, answer: Answer) -> None:
        """Send the status and the headers, with the length of the body."""
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()

    def say(self, answer: Answer) -> None:
        """Send a whole answer."""
        self.head(answer)
        self.wfile.write(answer.body)

    def hang_up(self, reset: bool = False) -> None:
        """Close the connection, and mean it."""
        self.wfile.flush()
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()  # the reset goes out when the last file on the socket is closed
        self.close_connection = True

    def gone(self, seconds: float) -> bool:
        """Wait, and return whether the client hung up, or the proxy stopped, within that time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if self.server.proxy.stopped.is_set():
                return True
            readable, _, _ = select.select([self.connection], [], [], min(left, 0.1))
            if readable:
                try:
                    if not self.connection.recv(1, socket.MSG_PEEK):
                        return True
                except OSError:
                    return True
                time.sleep(min(left, 0.1))  # the client says something while it waits: let it
        return False

    def stream(self, encoding: str, chunks: Iterable[bytes]) -> None:
        """Send chunks until there are no more, or the client hangs up."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        self.wfile.write(b"0\r\n\r\n")


def _json(content: object, *headers: tuple[str, str], status: int = 200) -> Answer:
    return Answer(
        status,
        [("Content-Type", "application/json; charset=utf-8"), *headers],
        json.dumps(content, ensure_ascii=False).encode(),
    )


def _html(status: int, title: str, *headers: tuple[str, str]) -> Answer:
    page = f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>\n"
    return Answer(status, [("Content-Type", "text/html; charset=utf-8"), *headers], page.encode())


def _pass(handler: _Handler) -> None:
    handler.say(handler.ask(plain=False))


def _timeout(handler: _Handler) -> None:
    handler.gone(handler.server.proxy.patience)
    handler.hang_up()


def _reset(handler: _Handler) -> None:
    handler.hang_up(reset=True)


def _cut(handler: _Handler) -> None:
    answer = handler.ask(plain=False)
    handler.head(answer)
    handler.wfile.write(answer.body[: len(answer.body) // 2])
    handler.hang_up()


def _slow(handler: _Handler) -> None:
    proxy = handler.server.proxy
    answer = handler.ask(plain=False)
    handler.head(answer)
    deadline = time.monotonic() + proxy.patience
    for byte in answer.body:
        handler.wfile.write(bytes([byte]))
        if handler.gone(proxy.pause) or time.monotonic() > deadline:
            handler.hang_up()
            return


def _truncated_json(handler: _Handler) -> None:
    answer = handler.ask()
    handler.say(Answer(answer.status, answer.headers, answer.body[: len(answer.body) // 2]))


def _wrong_encoding(handler: _Handler) -> None:
    answer = handler.ask()
    latin = answer.body.decode().encode("latin-1", "replace")
    start, quote, rest = latin.rpartition(b'"')
    # also where the answer is plain ASCII: E9 before a quotation mark is no UTF-8
    handler.say(Answer(answer.status, answer.headers, start + b"\xe9" + quote + rest))


def _forever_continue(handler: _Handler) -> None:
    answer = handler.ask()
    content = json.loads(answer.body)
    content.pop("batchcomplete", None)
    content["continue"] = handler.server.proxy.repeated(content.get("continue"))
    handler.say(Answer(answer.status, answer.headers, json.dumps(content, ensure_ascii=False).encode()))


def _retry_after(handler: _Handler) -> tuple[str, str]:
    return "Retry-After", str(handler.server.proxy.retry_after)


def _429_date(handler: _Handler) -> None:
    # a date has whole seconds: rounded up, lest it ask for less than `retry_after`
    at = email.utils.formatdate(math.ceil(time.time() + handler.server.proxy.retry_after), usegmt=True)
    handler.say(_html(429, "Too Many Requests", ("Retry-After", at)))


def _maxlag(handler: _Handler) -> None:
    error = {"code": "maxlag", "info": "Waiting for db1: 5 seconds lagged.", "host": "db1", "lag": 5}
    error |= {"type": "db", "docref": f"See {handler.server.proxy.url} for API usage."}
    handler.say(
        _json(
            {"error": error},
            _retry_after(handler),
            ("X-Database-Lag", "5"),
            ("MediaWiki-API-Error", "maxlag"),
        )
    )


def _huge(handler: _Handler) -> None:
    def chunks() -> Iterator[bytes]:
        yield b'{"batchcomplete": true, "query": "'
        block = b"x" * (1 << 16)
        for _ in range(1 << 14):
            yield block

    handler.stream("", chunks())
    handler.hang_up()


def _gzip_bomb(handler: _Handler) -> None:
    def chunks() -> Iterator[bytes]:
        zeros = bytes(1 << 20)
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        # after a full flush, equal blocks compress to equal bytes
        block = deflate.compress(zeros) + deflate.flush(zlib.Z_FULL_FLUSH)
        end = deflate.flush(zlib.Z_FINISH)
        checksum = 0
        yield b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
        for _ in range(1 << 11):
            checksum = zlib.crc32(zeros, checksum)
            yield block
        yield end + struct.pack("<II", checksum, 1 << 31)

    handler.stream("gzip", chunks())


def _401(handler: _Handler) -> None:
    key = handler.headers.get("Authorization", "").removeprefix("Bearer ")
    handler.say(_api_error(401, f"Incorrect API key provided: {key}.", "invalid_api_key"))


def _400_max_tokens(handler: _Handler) -> None:
    if "max_tokens" not in json.loads(handler.content):
        return _pass(handler)
    advice = "Use 'max_completion_tokens' instead."
    said = f"Unsupported parameter: 'max_tokens' is not supported with this model. {advice}"
    return handler.say(_api_error(400, said, "unsupported_parameter"))


def _api_error(status: int, message: str, code: str) -> Answer:
    return _json({"error": {"message": message, "type": code, "param": None, "code": code}}, status=status)


FAULTS: dict[str, Callable[[_Handler], None]] = {
    "pass": _pass,
    "timeout": _timeout,
    "reset": _reset,
    "cut": _cut,
    "slow": _slow,
    "truncated-json": _truncated_json,
    "wrong-encoding": _wrong_encoding,
    "html": lambda handler: handler.say(_html(200, "Wikimedia Error")),
    "429": lambda handler: handler.say(_html(429, "Too Many Requests", _retry_after(handler))),
    "429-date": _429_date,
    "503": lambda handler: handler.say(_html(503, "Service Unavailable")),
    "503-retry": lambda handler: handler.say(_html(503, "Service Unavailable", _retry_after(handler))),
    "maxlag": _maxlag,
    "forever-continue": _forever_continue,
    "huge": _huge,
    "gzip-bomb": _gzip_bomb,
    "redirect-http": lambda handler: handler.say(
        _html(302, "Found", ("Location", "http://example.com" + handler.path))
    ),
    "401": _401,
    "429-quota": lambda handler: handler.say(
        _api_error(429, "You exceeded your current quota.", "insufficient_quota")
    ),
    "400-max-tokens": _400_max_tokens,
    "error-200": lambda handler: handler.say(_api_error(200, "Provider returned error", "upstream")),
}
"""What each entry of a script does."""
