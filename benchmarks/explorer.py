"""The map of the text explorer: a canvas of our own compared with plotly's scattergl, both in Chromium.

    .venv/bin/python benchmarks/explorer.py [--points 50000] [--rounds 3] [--screenshots FOLDER]

Both have the same points in four colours, on pages opened from disk. "strict" is the policy
(Content-Security-Policy) of the page of results; under "loose", scripts may build scripts and styles from
strings. Measured: bytes of the library, time until the points are drawn, frames while the map is dragged, and
time to hide half of the points. WebGL is computed by the CPU, as the canvas is.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.resources
import json
import shutil
import statistics
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from textgamut.report.escaping import csp_hash
from textgamut.report.rendering import load_template

COLOURS = ["#0072b2", "#b5520a", "#00795a", "#6b6f76"]
STYLE = "#plot { width: 900px; height: 420px; display: block; }"
STRICT = "default-src 'none'; style-src '{style}'; script-src '{script}'; img-src data:"
LOOSE = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "img-src data: blob:"
)
START = """
const { x, y, colour } = JSON.parse(document.querySelector("#points").textContent);
const drawn = () => requestAnimationFrame(() => setTimeout(() => {
  document.body.dataset.drawn = performance.now();
}));
"""
CANVAS = """
const plot = new Scatter(document.querySelector("#plot"), { select() {}, hover() {}, lasso() {}, view() {} });
const shown = new Uint8Array(x.length).fill(1), shape = new Uint8Array(x.length).fill(1);
const show = () => plot.show({ x: Float32Array.from(x), y: Float32Array.from(y), shown, shape,
  colour: Uint8Array.from(colour), colours: %s, equal: true, labels: null });
show();
drawn();
globalThis.hide = () => { colour.forEach((c, i) => { shown[i] = c < 2; }); show(); };
"""
PLOTLY = """
const traces = %s.map((color, c) => {
  const places = colour.flatMap((found, i) => (found === c ? [i] : []));
  const of = (values) => places.map((i) => values[i]);
  return { type: "scattergl", mode: "markers", x: of(x), y: of(y), marker: { color, size: 5 } };
});
const { Plotly } = globalThis;
const layout = { dragmode: "pan", margin: { l: 0, r: 0, t: 0, b: 0 } };
Plotly.newPlot("plot", traces, layout, { displayModeBar: false }).then(drawn);
globalThis.hide = () => Plotly.restyle("plot", { visible: false }, [2, 3]);
"""
FRAMES = """() => {
  globalThis.frames_ = [];
  let last = performance.now();
  const next = (now) => { frames_.push(now - last); last = now; requestAnimationFrame(next); };
  requestAnimationFrame(next);
}"""
HIDE = """() => new Promise((resolve) => {
  const start = performance.now();
  hide();
  requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
})"""


def made_points(count: int) -> str:
    """Return points in four clouds as JSON."""
    rng = np.random.default_rng(0)
    colour = rng.integers(0, len(COLOURS), count)
    places = rng.normal(size=(count, 2)) + rng.normal(size=(len(COLOURS), 2))[colour]
    x, y = np.round(places, 4).T
    return json.dumps({"x": x.tolist(), "y": y.tolist(), "colour": colour.tolist()})


def page_of(policy: str, library: str, body: str, script: str, points: str) -> str:
    """Return a page with a library and a script."""
    script = f"{library}\n{START}{script % json.dumps(COLOURS)}"
    policy = policy.format(style=csp_hash(STYLE), script=csp_hash(script))
    return (
        '<!doctype html><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{STYLE}</style>{body}'
        f'<script type="application/json" id="points">{points}</script>'
        f'<script type="module">{script}</script>'
    )


def measure(browser: Browser, file: Path) -> str:
    """Open a page, drag its points, hide half of them."""
    page = browser.new_page(viewport={"width": 1000, "height": 600})
    page.goto(f"file://{file}")
    page.wait_for_selector("body[data-drawn]", timeout=120_000)
    opened = float(page.get_attribute("body", "data-drawn") or "nan")
    if page.get_by_text("WebGL is not supported").count():
        page.close()
        return "draws nothing"
    page.evaluate(FRAMES)
    page.mouse.move(300, 200)
    page.mouse.down()
    for step in range(60):
        page.mouse.move(300 + 3 * step, 200 + step)
    page.mouse.up()
    frames = sorted(page.evaluate("frames_"))
    page.screenshot(path=file.with_suffix(".png"))
    hidden = page.evaluate(HIDE)
    page.close()
    return (
        f"drawn after {opened:,.0f} ms, {len(frames)} frames while it is dragged, median "
        f"{statistics.median(frames):.0f} ms, 95 % {frames[int(len(frames) * 0.95)]:.0f} ms, "
        f"half of the points hidden in {hidden:,.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--screenshots", type=Path, help="keep the pages and what they look like")
    arguments = parser.parse_args()
    environment = load_template("base.html", str).environment
    assert environment.loader is not None
    own = environment.loader.get_source(environment, "explorer/plot.js")[0]
    package = importlib.resources.files("plotly") / "package_data/plotly.min.js"
    theirs = package.read_text(encoding="utf-8").replace("</script", "<\\/script")
    plotly = f"plotly {importlib.metadata.version('plotly')}"
    sides = {
        "textgamut, strict": (STRICT, own, '<canvas id="plot"></canvas>', CANVAS),
        f"{plotly}, strict": (STRICT, theirs, '<div id="plot"></div>', PLOTLY),
        f"{plotly}, loose": (LOOSE, theirs, '<div id="plot"></div>', PLOTLY),
    }
    points = made_points(arguments.points)
    print(
        f"{arguments.points:,} points; textgamut {len(own) / 1e3:.0f} kB, plotly {len(theirs) / 1e3:,.0f} kB"
    )
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = arguments.screenshots or Path(temporary)
        folder.mkdir(exist_ok=True)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
        )
        for turn in range(arguments.rounds):
            for name, (policy, library, body, script) in sides.items():
                file = (folder / f"{name}.html").resolve()
                file.write_text(page_of(policy, library, body, script, points), encoding="utf-8")
                print(f"round {turn + 1}, {name}: {measure(browser, file)}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
