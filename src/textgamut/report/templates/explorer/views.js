// The tabs: map, missed texts, two cells side by side.
function axisValues() {
  const { task, state, cells } = explorer, key = `${task.entry.name} ${state.x} ${state.y} ${cells}`;
  if (explorer.axes?.key !== key) {
    const of = (name, coordinate) => Float32Array.from(
      name === "map" ? task.points[coordinate] : task.points.id.map((_, place) => valueOf(name, place, cells)),
      (value) => value ?? NaN);
    explorer.axes = { key, x: of(state.x, "x"), y: of(state.y, "y") };
  }
  return explorer.axes;
}

const RAMP = Array.from({ length: 8 }, (_, i) => `--r${i}`);
const PALETTE = Array.from({ length: 8 }, (_, i) => `--c${i}`);

// The colour of each point, the colours, and their meaning.
function coloursOf() {
  const { task, state, cells } = explorer, { points } = task, name = state.colour;
  if (name === "support") {
    const colour = (place) => ({ 0: 1, 1: 0 })[insideOf(place, cells)] ?? 2;
    return { colour, colours: ["--c0", "--c1", "--human"], labels: ["inside", "outside", "not compared"] };
  }
  const group = task.groups.find((found) => `group ${found.name}` === name);
  if (group) {
    const none = PALETTE.length, codes = points.groups[group.name];
    const colour = (place) => codes[place] === null ? none : codes[place] % PALETTE.length;
    return { colour, colours: [...PALETTE, "--human"], labels: [...group.labels, "none"],
      places: [...group.labels.map((_, i) => i % PALETTE.length), none] };
  }
  if (points.values[name]) {
    const values = points.id.map((_, place) => valueOf(name, place, cells)), steps = RAMP.length;
    const known = values.filter((value) => value !== null);
    const low = known.reduce((a, b) => Math.min(a, b), Infinity), high = known.reduce((a, b) => Math.max(a, b), -Infinity);
    const colour = (place) => values[place] === null ? steps
      : Math.min(steps - 1, Math.floor(((values[place] - low) / (high - low || 1)) * steps));
    return { colour, colours: [...RAMP, "--human"], labels: [`${labelOf(name)} ${showNumber(low)}`, showNumber(high), "no value"],
      places: [0, steps - 1, steps] };
  }
  const methods = [...new Set(task.cells.map((cell) => cell.method))];
  const of = task.cells.map((cell) => methods.indexOf(cell.method) % PALETTE.length);
  return { colour: (place) => points.cell[place] < 0 ? PALETTE.length : of[points.cell[place]],
    colours: [...PALETTE, "--human"], labels: [...methods, spoken(HUMAN)], human: methods.length,
    places: [...methods.map((_, i) => i % PALETTE.length), PALETTE.length] };
}

function drawMap() {
  const { task, state, plot, cells } = explorer, { x, y } = axisValues();
  const painted = coloursOf(), shape = new Uint8Array(task.count), colour = new Uint8Array(task.count);
  const shown = explorer.shown.slice();
  for (let place = 0; place < task.count; place++) {
    shown[place] &= !Number.isNaN(x[place]) && !Number.isNaN(y[place]);
    if (!shown[place]) continue;
    colour[place] = painted.colour(place);
    shape[place] = insideOf(place, cells) === 0 ? CROSS : place < task.humans ? RING : DISC;
  }
  const metric = state.x !== "map" || state.y !== "map";
  const axis = (name, number) => (name === "map" ? `${task.projection} ${number}`
    : axisLabel(labelOf(name), task.metrics.find((metric) => metric.name === name)?.better));
  plot.lasso = state.lasso;
  plot.chosen = explorer.place;
  plot.show({ x, y, shown, colour, shape, colours: painted.colours, equal: !metric,
    labels: metric ? [axis(state.x, 1), axis(state.y, 2)] : null });
  drawLegend(painted);
  const picture = [`The map is only a picture: a two-dimensional projection (${task.projection}) of the features of `,
    isolated(task.embedder ?? ""), ". Inside, outside and neighbours are of the metric's own feature space, with all its dimensions. "];
  $("caption").replaceChildren(...(metric ? [] : picture), "Drag to move; zoom with the wheel after a click on the map, or with "
    + "Ctrl; drag with Shift to select by lasso.");
}

// A sign of a legend: a mark in a colour, which may be the name of a CSS variable, and its meaning.
function legendEntry(colour, shape, label) {
  const mark = drawMark(colourOf(colour), shape, 5, 1);
  mark.setAttribute("aria-hidden", "true");
  return element("span", {}, mark, " ", isolated(label));
}

// human: the place of the entry of the human texts, if there is one.
function drawLegend({ labels, colours, places = [0, 1, 2], human = null }) {
  const entries = labels.slice(0, 20).map((label, i) =>
    legendEntry(colours[places[i]], i === human ? RING : DISC, label));
  if (explorer.task.projection) {
    const shapes = [[DISC, "generated"], [RING, spoken(HUMAN)], [CROSS, "outside the other side's support"]];
    entries.push(...shapes.filter(([shape]) => shape !== RING || human === null)
      .map(([shape, label]) => legendEntry("--human", shape, label)));
  }
  $("legend").replaceChildren(...entries);
}

function drawList() {
  const { task, state, cells } = explorer, places = [];
  for (let place = 0; place < task.count; place++) if (explorer.shown[place]) places.push(place);
  const [name, direction] = state.order.split(" ");
  if (task.points.values[name]) {
    const sign = direction === "down" ? -1 : 1, last = Infinity;
    const value = (place) => { const found = valueOf(name, place, cells); return found === null ? last : sign * found; };
    const keys = new Map(places.map((place) => [place, value(place)]));
    places.sort((a, b) => keys.get(a) - keys.get(b) || a - b);
  }
  const next = places.slice(0, explorer.listed);
  $("list").replaceChildren(...next.map((place) => element("li", {}, textButton(place))));
  $("more").hidden = next.length >= places.length;
  $("empty").hidden = places.length > 0;
  $("empty").textContent = state.query.trim() ? `No text, prompt or id has "${state.query.trim()}"` + (task.loading ? " so far: texts are still loading."
    : " among those that the filters show.") : "The filters hide all texts: clear them to see some.";
  const matching = state.query.trim() && task.loading ? " (texts are still loading)" : "";
  $("status").textContent = `showing ${places.length.toLocaleString("en")} of ${task.count.toLocaleString("en")} texts${matching}`;
}

function drawMissed() {
  const { task, state } = explorer, cell = task.cells[state.cell] ? state.cell : 0;
  fillSelect($("cell"), task.cells.map((_, place) => [String(place), cellName(place)]), String(cell));
  const generated = [], human = [];
  for (let place = 0; place < task.count; place++) {
    if (task.points.cell[place] === cell && task.points.inside[place] === 0) generated.push(place);
    if (place < task.humans && task.human[cell].inside[place] === 0) human.push(place);
  }
  const distance = (place) => place < task.humans ? task.human[cell].distance[place] : task.points.values.distance[place];
  const row = async (place) => {
    const found = await neighboursOf(task, place, cell), nearest = found?.other[0] ?? null;
    await Promise.all([place, nearest].map((which) => which === null ? null : textOf(task, which)));
    if (task !== explorer.task) return ""; // another one was opened meanwhile
    const pair = element("div", { className: "x-missing" });
    for (const [which, more] of [[place, ""], [nearest, ` · nearest, distance ${showNumber(distance(place))}`]]) {
      if (which === null) continue;
      const text = element("div"), button = element("button", { type: "button" }, "Open");
      showText(text, task.texts[which], promptOf(which));
      button.setAttribute("aria-label", `Open ${task.points.id[which]}`);
      button.addEventListener("click", () => select(which, true, cell));
      pair.append(element("div", {}, element("small", {}, element("bdi", {}, visible(`${sideName(which)} · ${task.points.id[which]}`)), more, " "), button, text));
    }
    return pair;
  };
  const list = (title, places) => {
    const shown = places.filter((place) => explorer.shown[place]).sort((a, b) => distance(b) - distance(a) || a - b);
    const count = shown.length === places.length ? places.length : `${shown.length} of ${places.length}, the filters hide the others`;
    return section(`${title} (${count})`, shown, row);
  };
  $("missed-lists").replaceChildren(
    list("Generated texts outside human support, which lower precision", generated),
    list("Human texts outside the support of the generated texts, which lower recall", human));
}

// The texts of a cell (-1: human texts) by prompt, which may have several.
function byPrompt(cell) {
  const { task } = explorer, found = new Map();
  for (let place = task.firsts[cell + 1] ?? task.count; task.points.cell[place] === cell; place++) {
    const prompt = task.points.prompt[place];
    if (prompt === null) continue;
    if (found.has(prompt)) found.get(prompt).push(place); else found.set(prompt, [place]);
  }
  return found;
}

// The cells with prompts, and the human texts if they have some.
const comparable = () => (explorer.task.comparable
  ??= [...explorer.task.cells.keys(), -1].filter((cell) => byPrompt(cell).size));

let paired = 0;
async function drawPair() {
  const { task, state } = explorer, known = comparable(), turn = ++paired;
  const methodOf = (cell) => task.cells[cell]?.method, other = known.find((cell) => methodOf(cell) !== methodOf(known[0]));
  const usual = [known[0], other ?? known[1]];
  const [left, right] = usual.map((cell, i) => (known.includes(state.pair?.[i]) ? state.pair[i] : cell));
  const options = known.map((cell) => [String(cell), cell < 0 ? spoken(HUMAN) : cellName(cell)]);
  fillSelect($("left"), options, String(left));
  fillSelect($("right"), options, String(right));
  const [first, second] = [byPrompt(left), byPrompt(right)];
  const prompts = [...first.keys()].filter((prompt) => second.has(prompt)
    && [...first.get(prompt), ...second.get(prompt)].some((place) => explorer.shown[place]));
  const chosen = prompts.includes(Number(state.prompt)) && state.prompt !== null ? Number(state.prompt) : prompts[0];
  fillSelect($("prompt"), prompts.map((prompt) => [String(prompt), firstWords(task.prompts[prompt], 60)]), String(chosen));
  explorer.prompts = prompts;
  $("previous").disabled = prompts.indexOf(chosen) <= 0;
  $("next").disabled = prompts.indexOf(chosen) === prompts.length - 1;
  if (chosen === undefined) {
    $("sides").replaceChildren(element("p", {}, "No prompt of both is shown."));
    $("pair-prompt").hidden = true;
    return;
  }
  const both = [first.get(chosen), second.get(chosen)], places = both.flat();
  await Promise.all(places.map((place) => textOf(task, place)));
  if (turn !== paired || task !== explorer.task) return;
  const compared = [left, right].filter((cell) => cell >= 0); // a human text is compared with the other side
  const row = (place, rival) => {
    const text = element("div"), button = element("button", { type: "button" }, "Open");
    showText(text, task.texts[place], promptOf(place));
    button.setAttribute("aria-label", `Open ${task.points.id[place]} by ${sideName(place)}`);
    button.addEventListener("click", () => select(place, true, compared[0]));
    const support = ["outside the other side's support", "inside the other side's support"][insideOf(place, compared)] ?? "";
    return element("div", {}, element("small", {}, `${support} `), button, text, facts(place, compared, rival));
  };
  // Values are compared where there is one text on either side.
  const rivals = places.length === 2 ? [places[1], places[0]] : [null, null];
  $("sides").replaceChildren(...both.map((side, i) => {
    const count = side.length > 1 ? ` (${side.length} texts)` : "";
    return section(sideName(side[0]) + count, side, (place) => row(place, rivals[i]), 3);
  }));
  showText($("pair-prompt"), task.prompts[chosen]);
  $("pair-prompt").hidden = places.every((place) => task.texts[place].startsWith(task.prompts[chosen]));
}
