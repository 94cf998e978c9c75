// What is shown, and its form in the address: #texts?task=news&tab=map&off.model=Gemma&range.words=20:60
const HASH = "#texts?";
// off: the values of a filter that are hidden; ranges: [low, high] of a metric, null for an open end.
const noFilters = () => ({ off: { __proto__: null }, ranges: { __proto__: null }, lasso: null, query: "" });
const explorer = { task: null, state: newState(), shown: null, listed: 20 };

function newState() {
  return { tab: "map", x: "", y: "", colour: "method", ...noFilters(), metric: "words",
    order: "", point: null, from: null, cell: 0, pair: null, prompt: null, view: null };
}

function readAddress() {
  if (!location.hash.startsWith(HASH)) return null;
  const state = newState(), given = new URLSearchParams(location.hash.slice(HASH.length));
  for (const [key, value] of given) {
    const [kind, name] = [key.split(".")[0], key.split(".").slice(1).join(".")];
    if (kind === "off") (state.off[name] ??= []).push(value);
    else if (kind === "range") {
      const range = value.split(":").map((bound) => (bound === "" ? null : Number(bound)));
      const valid = range.length === 2 && range.every((bound) => bound === null || Number.isFinite(bound));
      if (valid && range.some((bound) => bound !== null)) state.ranges[name] = range;
    } else if (kind === "lasso") {
      const numbers = value.split(",").map(Number);
      const polygon = numbers.flatMap((number, i) => (i % 2 ? [] : [[number, numbers[i + 1]]]));
      if (numbers.every(Number.isFinite) && polygon.length > 2 && numbers.length % 2 === 0) state.lasso = polygon;
    } else if (kind === "view") {
      const [x, y, width, height] = value.split(",").map(Number);
      if ([x, y].every(Number.isFinite) && width > 0 && height > 0) state.view = { x, y, width, height };
    } else if (kind === "pair") state.pair = value.split(",").map((cell) => Number(cell) | 0);
    else if (kind === "cell" || kind === "from") state[kind] = Number(value) | 0;
    else if (kind === "point") {
      const [cell, ...id] = value.split(",");
      state.point = [Number(cell) | 0, id.join(",")];
    } else if (["task", "tab", "x", "y", "colour", "query", "metric", "order", "prompt"].includes(kind)) {
      state[kind] = value;
    }
  }
  return state;
}

function textsAddress() {
  const { state } = explorer;
  const found = new URLSearchParams({ task: explorer.task.entry.name });
  const usual = newState();
  for (const key of ["tab", "x", "y", "colour", "query", "metric", "order", "prompt", "cell"]) {
    if (state[key] !== usual[key] && state[key] !== null) found.set(key, state[key]);
  }
  for (const [name, values] of Object.entries(state.off)) for (const value of values) found.append(`off.${name}`, value);
  for (const [name, range] of Object.entries(state.ranges)) {
    found.set(`range.${name}`, range.map((bound) => (bound === null ? "" : Number(bound.toPrecision(6)))).join(":"));
  }
  if (state.lasso) found.set("lasso", thinned(state.lasso).flat().map((value) => value.toPrecision(4)).join(","));
  if (state.view) {
    const { x, y, width, height } = state.view;
    found.set("view", [x, y, width, height].map((value) => value.toPrecision(7)).join(","));
  }
  if (state.point) found.set("point", state.point.join(","));
  if (state.point?.[0] < 0 && state.from !== null) found.set("from", state.from);
  if (state.tab === "pair" && state.pair) found.set("pair", state.pair.join(","));
  return HASH + found;
}

// At most 60 corners, so that the address stays short.
const thinned = (polygon) => polygon.filter((_, i) => i % Math.ceil(polygon.length / 60) === 0);

// The address has the state of the part of the page that was used last; it stays as it is until one is used. SEEN
// marks the entries of the browser's history that this page has written.
const SEEN = "seen";
let used = null, writing = 0;
function writeAddress(hash, addressOfPart) {
  if (used !== hash) return;
  clearTimeout(writing);
  writing = setTimeout(() => { if (used === hash) history.replaceState(SEEN, "", addressOfPart()); }, 200);
}

// Make a change that the browser's back button undoes.
function takeStep(hash, addressOfPart, change) {
  clearTimeout(writing);
  if (!location.hash || location.hash.startsWith(hash)) history.replaceState(SEEN, "", addressOfPart());
  change();
  used = hash;
  history.pushState(SEEN, "", addressOfPart());
}

// Show the state of a part of the page that the address has, at first and when it changes. The parts grow while
// they are drawn: the page moves to what the address names when all of them stand.
const drawing = [];
function followAddress(heading, hash, show) {
  for (const kind of ["pointerdown", "keydown", "input", "change", "click", "wheel"]) {
    heading.closest("section").addEventListener(kind, () => { used = hash; }, true);
  }
  const named = () => location.hash.startsWith(hash);
  if (named()) used = hash;
  drawing.push(show());
  addEventListener("hashchange", () => {
    if (!named()) return;
    used = hash;
    show().then(() => { if (history.state !== SEEN) heading.scrollIntoView(); }); // a step back scrolls by itself
  });
}

function moveToAddress() {
  const name = location.hash.slice(1).split("?")[0];
  Promise.all(drawing).then(() => { if (name) document.getElementById(name)?.scrollIntoView({ behavior: "instant" }); });
}
