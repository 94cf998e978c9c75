"""The reader of MediaWiki dumps compared with those of mwxml and gensim, and with bz2 alone, the floor.

    python benchmarks/dump.py                                # the real 206 pages, repeated to 120 MB of XML
    python benchmarks/dump.py --file pages-articles.xml.bz2  # a dump of your own

The peers: pip install mwxml gensim. Each contender runs in its own process on the same file, alternating, in
one thread, and adds up the lengths of all texts. MB are 10^6 bytes of uncompressed XML. Memory is the peak of
the process, including its libraries. Figures are medians over the rounds.
"""

from __future__ import annotations

import argparse
import bz2
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

CONTENDERS = {
    "bz2 alone": "bz2",
    "textgamut": "textgamut",
    "biographies": "textgamut",
    "mwxml": "mwxml",
    "gensim": "gensim",
}
"""Name -> module that it needs. ``biographies``: the whole extraction by textgamut, not only the reader."""

MEMBER = "gensim/test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
SHA256 = "a53f4648dec40467ebdcbc7a1307eddb51fe6e28e9309f6ebde81ba0d04bea2d"


def build(path: Path, megabytes: float) -> None:
    """Write a document that repeats the pages of the real dump, each time as a bz2 stream."""
    from textgamut.config.entries.sources import WheelSource
    from textgamut.sources.fetch import fetch

    part = {"package": "gensim", "version": "4.4.0", "member": MEMBER}
    source = WheelSource.model_validate({"kind": "wheel", "parts": [part], "sha256": SHA256})
    xml = bz2.decompress(fetch(source).read_bytes())
    start, end = xml.index(b"<page>"), xml.rindex(b"</mediawiki>")
    body = bz2.compress(xml[start:end])
    with path.open("wb") as stream:
        stream.write(bz2.compress(xml[:start]))
        for _ in range(max(1, round(megabytes * 1e6 / (end - start)))):
            stream.write(body)
        stream.write(bz2.compress(xml[end:]))


def peak() -> float:
    """Return the peak memory of this process in MB; getrusage would include that of the parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def measure(contender: str, path: Path) -> None:
    """Run one contender in this process; print its time, what it read, and its memory."""
    with bz2.open(path) as stream:
        if contender == "bz2 alone":
            parts = iter(partial(stream.read, 2**17), b"")
        elif contender == "textgamut":
            from textgamut.datasets.dump import pages

            parts = (page.text for page in pages(path))
        elif contender == "biographies":
            parts = biographies(path)
        elif contender == "mwxml":
            import mwxml

            dump = mwxml.Dump.from_file(stream)  # reads only the head
            parts = (revision.text or "" for page in dump for revision in page)
        else:
            from gensim.corpora.wikicorpus import extract_pages

            parts = (text for _, text, _ in extract_pages(stream))
        start, start_cpu = time.perf_counter(), time.process_time()
        count = total = 0
        for part in parts:
            count += 1
            total += len(part)
        found = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - start_cpu}
    print(json.dumps(found | {"count": count, "total": total, "peak": peak()}))


def biographies(path: Path) -> Iterator[str]:
    """Extract the biographies with a badge, of any length; the time excludes imports."""
    from textgamut.config.entries.datasets import BiographiesDataset
    from textgamut.datasets.biographies import read

    source = {"kind": "file", "path": str(path)}
    entry = BiographiesDataset(format="biographies", source=source, min_words=1, max_words=10**6)
    return (text for _ in range(1) for text in read(path, entry)["text"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=float, default=120, help="of XML")
    parser.add_argument("--file", type=Path, help="a .xml.bz2 of your own, one revision a page")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contender:
        measure(options.contender, options.file)
        return
    here = [name for name, module in CONTENDERS.items() if importlib.util.find_spec(module)]
    for name in CONTENDERS:
        if name not in here:
            print(f"{name} is not installed: pip install {name}")
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in here}
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Path(folder) / "dump.xml.bz2"
        if not options.file:
            build(path, options.megabytes)
        for _ in range(options.rounds):
            for name in here:
                command = [sys.executable, __file__, "--contender", name, "--file", str(path)]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603
                runs[name].append(json.loads(done.stdout.splitlines()[-1]))
        size = path.stat().st_size
    megabytes = runs["bz2 alone"][0]["total"] / 1e6
    pages = runs["textgamut"][0]["count"]
    print(f"{megabytes:.1f} MB of XML in {size / 1e6:.1f} MB of bz2, {pages} pages; {options.rounds} rounds")
    for name, results in runs.items():
        rate = statistics.median(megabytes / result["seconds"] for result in results)
        core = statistics.median(megabytes / result["cpu"] for result in results)
        ratio = statistics.median(
            theirs["cpu"] / ours["cpu"] for theirs, ours in zip(results, runs["textgamut"], strict=True)
        )
        held = max(result["peak"] for result in results)
        print(
            f"{name:11} {rate:6.1f} MB/s, {core:6.1f} MB per second of a core, "
            f"{ratio:5.2f} x the time of textgamut, peak {held:4.0f} MB"
        )
    read = {name: (results[0]["count"], results[0]["total"]) for name, results in runs.items()}
    del read["bz2 alone"], read["biographies"]
    same = "the same" if len(set(read.values())) == 1 else f"not the same: {read}"
    print(f"pages and characters of text are {same}")


if __name__ == "__main__":
    main()
