"""Real servers on loopback: MediaWiki and a SPARQL endpoint.

Each server lives in a scratch folder that the caller gives, and ends at ``stop()``, or with the process that
started it, however that ends.
"""

from __future__ import annotations

import bz2
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import httpx
from helpers import GIVE_UP
from servers import Server, free_port

MEDIAWIKI = Path("/usr/share/mediawiki")
PASSWORD = "only-for-this-loopback-wiki"  # noqa: S105 (a scratch wiki's)


def missing() -> str:
    """Name what `start_mediawiki` lacks on this machine; empty: nothing."""
    lacking = [] if shutil.which("php") else ["php"]
    return " and ".join(lacking + ([] if (MEDIAWIKI / "api.php").exists() else [f"MediaWiki in {MEDIAWIKI}"]))


# --- MediaWiki ------------------------------------------------------------------------------------------

# What the installer's own settings do not say. The clock is a header, so that a test can write a page "in"
# any year. The `disambiguation` page property is as the extension Disambiguator, which Debian does not
# ship, has it; the lag is what ApiMaxLagInfo is for.
SETTINGS = r"""
$wgDBservers = [ [ 'type' => 'sqlite', 'host' => '', 'user' => '', 'password' => '', 'dbname' => $wgDBname,
    'load' => 1, 'variables' => [ 'synchronous' => 'OFF' ] ] ];
$wgCacheDirectory = __DIR__ . '/cache';
$wgJobRunRate = 0;
$wgShowHostnames = true;
$wgHooks['GetDoubleUnderscoreIDs'][] = static function ( &$ids ) {
    $ids[] = 'disambiguation';
};
$wgExtensionMessagesFiles['DisambiguationMagic'] = __DIR__ . '/magic.php';
$wgHooks['ApiMaxLagInfo'][] = static function ( &$info ) {
    if ( is_file( __DIR__ . '/lag' ) ) {
        $info = [ 'host' => 'db1', 'lag' => (int)file_get_contents( __DIR__ . '/lag' ), 'type' => 'db' ];
    }
};
if ( isset( $_SERVER['HTTP_X_CLOCK'] ) ) {
    \Wikimedia\Timestamp\ConvertibleTimestamp::setFakeTime( $_SERVER['HTTP_X_CLOCK'] );
}
"""
MAGIC = r"""<?php
$magicWords = [ 'en' => [ 'disambiguation' => [ 0, '__DISAMBIG__' ] ] ];
"""
DISAMBIGUATIONS = {"Disambiguation", "Disambig", "Geodis", "Hndis"}
"""Templates by which the English Wikipedia marks a disambiguation page, by their own magic word."""


@dataclass(frozen=True)
class Edit:
    """What the API says that an edit made."""

    page_id: int
    revision_id: int
    timestamp: datetime


class Wiki:
    """A MediaWiki of its own: `api` and `url` for the client under test, methods to change its pages."""

    _defaults = {"format": "json", "formatversion": 2}

    def __init__(self, folder: Path, language: str = "en") -> None:
        self.folder = folder
        self._language = language
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self.api = f"{self.url}/api.php"
        self._environment = {"MW_CONFIG_FILE": str(folder / "LocalSettings.php")}
        self._install()
        self._server = Server(
            # the built-in server compresses nothing by itself
            [
                *("php", "-d", "display_errors=0", "-d", "log_errors=1", "-d", "zlib.output_compression=1"),
                *("-S", f"127.0.0.1:{self._port}", "-t", str(MEDIAWIKI)),
            ],
            folder / "server.log",
            f"{self.api}?action=query&meta=siteinfo&format=json",
            end="INT",
            PHP_CLI_SERVER_WORKERS="4",
            **self._environment,
        )
        self._client = httpx.Client(trust_env=False, timeout=GIVE_UP)
        try:
            self._token = self._log_in()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server."""
        self._client.close()
        self._server.stop()

    def _install(self) -> None:
        for name in ("data", "cache"):
            (self.folder / name).mkdir()
        # MediaWiki finds its settings by MW_CONFIG_FILE, so its 36,000 files stay where they are
        self._maintain(
            "install.php",
            *("--dbtype", "sqlite", "--dbpath", str(self.folder / "data"), "--dbname", "wiki"),
            *("--server", self.url, "--scriptpath", "", "--confpath", str(self.folder)),
            *(
                "--extensions",
                "TextExtracts,ParserFunctions,Cite",
                "--pass",
                PASSWORD,
                "--lang",
                self._language,
            ),
            *("Wikipedia", "Admin"),
        )
        (self.folder / "magic.php").write_text(MAGIC)
        with (self.folder / "LocalSettings.php").open("a") as settings:
            settings.write(SETTINGS)
        with self._database() as database:  # else a reader and a writer wait for each other
            database.execute("PRAGMA journal_mode = WAL")

    def _maintain(self, script: str, *arguments: str, stdin: bytes = b"") -> None:
        done = subprocess.run(
            ["php", str(MEDIAWIKI / "maintenance" / script), *arguments],
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | self._environment,
            timeout=GIVE_UP,
        )
        if done.returncode:
            raise RuntimeError(f"{script}: exit {done.returncode}: {done.stdout.decode()[-2000:]}")

    def _database(self) -> Database:
        return Database(self.folder / "data/wiki.sqlite")

    # --- reading

    def query(self, **params: Any) -> dict[str, Any]:
        """Ask ``action=query`` (formatversion 2) as the administrator; return the whole answer."""
        answer = self._client.get(self.api, params=self._defaults | {"action": "query"} | params)
        return self._checked(answer)

    def render(self, text: str) -> str:
        """Return the HTML of wikitext, as on a page of its own."""
        params = {"action": "parse", "text": text, "contentmodel": "wikitext", "prop": "text"}
        return self._post({}, params | {"disablelimitreport": 1, "wrapoutputclass": ""})["parse"]["text"]

    @staticmethod
    def _checked(answer: httpx.Response) -> dict[str, Any]:
        content = answer.raise_for_status().json()
        if "error" in content:
            raise RuntimeError(f"{content['error']['code']}: {content['error']['info']}")
        return content

    # --- writing

    def edit(self, title: str, text: str, summary: str = "", at: datetime | None = None) -> Edit:
        """Write a page, at a time of the past or future where one is given; a new page is logged as created.

        Templates come first: a change of theirs does not reach the categories and page properties of the
        pages that use them already, since no jobs run.
        """
        made = self._write(at, action="edit", title=title, text=text, summary=summary)["edit"]
        if made["result"] != "Success" or "nochange" in made:
            raise RuntimeError(f"no edit was made: {made}")
        return Edit(made["pageid"], made["newrevid"], datetime.fromisoformat(made["newtimestamp"]))

    def move(self, title: str, to: str, redirect: bool = True, at: datetime | None = None) -> None:
        """Rename a page; it keeps its page id, and the redirect that is left behind gets a new one."""
        keep = {} if redirect else {"noredirect": 1}
        self._write(at, action="move", **{"from": title}, to=to, **keep)

    def delete(self, title: str, at: datetime | None = None) -> None:
        """Delete a page; its creation stays in the log, with page id 0."""
        self._write(at, action="delete", title=title)

    def undelete(self, title: str, at: datetime | None = None) -> None:
        """Restore the deleted revisions of a page."""
        self._write(at, action="undelete", title=title)

    def set_lag(self, seconds: int) -> None:
        """Say how far the database replicas are behind: requests with a smaller ``maxlag`` are refused."""
        (self.folder / "lag").write_text(str(seconds))

    def _log_in(self) -> str:
        """Log in as the administrator, and return the token that writing takes."""
        token = self.query(meta="tokens", type="login")["query"]["tokens"]["logintoken"]
        login = {"action": "login", "lgname": "Admin", "lgpassword": PASSWORD, "lgtoken": token}
        self._post({}, login)
        return self.query(meta="tokens", **{"assert": "user"})["query"]["tokens"]["csrftoken"]

    def _write(self, at: datetime | None, **params: Any) -> dict[str, Any]:
        clock = {"X-Clock": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")} if at else {}
        return self._post(clock, params | {"token": self._token})

    def _post(self, headers: dict[str, str], params: dict[str, Any]) -> dict[str, Any]:
        return self._checked(self._client.post(self.api, data=self._defaults | params, headers=headers))

    # --- dumps

    def write_dump(self, path: Path) -> None:
        """Write a dump with the last revision of each page, as XML."""
        self._maintain("dumpBackup.php", "--current", f"--output=file:{path}")

    def import_dump(self, dump: Path) -> None:
        """Import a ``pages-articles.xml.bz2`` with its categories, template links and redirects.

        Its templates are not in such a dump: the wiki gets blank ones, lest extracts be littered with the
        names of missing pages; those that mark a disambiguation page do so. Page ids are the wiki's own.
        Nothing is logged as created.
        """
        xml = bz2.decompress(dump.read_bytes())
        with self._database() as database:
            (last,) = database.execute("SELECT MAX(page_id) FROM page").fetchone()
        self._maintain("importDump.php", "--no-updates", stdin=xml)
        with self._database() as database:
            (end,) = database.execute("SELECT MAX(page_id) FROM page").fetchone()
        self._maintain("importDump.php", "--no-updates", stdin=_templates(xml.decode()))
        # parsing each page is what takes time: one process for each core, and shares small enough to even out
        cores = min(4, os.cpu_count() or 1)
        shares = 3 * cores
        starts = [last + 1 + (end - last) * i // shares for i in range(shares + 1)]

        def refresh(first: int, after: int) -> None:
            self._maintain("refreshLinks.php", "-e", str(after - 1), str(first))

        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(refresh, starts[:-1], starts[1:]))


class Database:
    """A connection to MediaWiki's SQLite file for one block: committed and closed at its end."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, timeout=30)

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._connection.commit()
        self._connection.close()


def _templates(dump: str) -> bytes:
    """Write a dump of the templates that another dump uses."""
    namespace = re.search(r'<mediawiki xmlns="([^"]+)"', dump)
    assert namespace is not None
    names = {
        name[0].upper() + name[1:]
        for match in re.finditer(r"\{\{([^{}|<>\[\]#:]+?)(?:\||\}\})", dump)
        if (name := " ".join(match[1].replace("_", " ").split())) and "&" not in name
    }
    pages = "".join(
        f"<page><title>Template:{escape(name)}</title><ns>10</ns><revision>"
        "<timestamp>2001-01-01T00:00:00Z</timestamp><contributor><username>Admin</username></contributor>"
        "<model>wikitext</model><format>text/x-wiki</format>"
        f'<text xml:space="preserve">{"__DISAMBIG__" if name in DISAMBIGUATIONS else ""}</text>'
        "</revision></page>"
        for name in sorted(names)
    )
    return f'<mediawiki xmlns="{namespace[1]}">{pages}</mediawiki>'.encode()


def start_mediawiki(folder: Path, language: str = "en") -> Wiki:
    """Install MediaWiki's state into an empty folder and serve it on a free loopback port.

    Args:
        folder: Scratch folder, there and empty; MediaWiki itself stays where Debian has it.
        language: Language of its content, which names its namespaces and magic words.

    Returns:
        The wiki, which answers.

    Raises:
        RuntimeError: Something does not work; the message has the end of its output.
    """
    return Wiki(folder, language)


# --- SPARQL ---------------------------------------------------------------------------------------------


class Sparql:
    """A read-only SPARQL 1.1 endpoint at `url`."""

    def __init__(self, turtle: str, folder: Path) -> None:
        oxigraph = str(Path(sys.executable).with_name("oxigraph"))
        (folder / "graph.ttl").write_text(turtle)
        store = ("--location", str(folder / "store"))
        loaded = subprocess.run(
            [oxigraph, "load", *store, "--file", str(folder / "graph.ttl")], capture_output=True, text=True
        )
        if loaded.returncode:
            raise RuntimeError(f"oxigraph load: {loaded.stderr}")
        address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{address}/query"
        self._server = Server(
            [oxigraph, "serve-read-only", *store, "--bind", address],
            folder / "oxigraph.log",
            f"http://{address}/",
        )

    def stop(self) -> None:
        """End the server."""
        self._server.stop()


def start_sparql(turtle: str, folder: Path) -> Sparql:
    """Serve a graph, written in Turtle, from an empty scratch folder."""
    return Sparql(turtle, folder)
