// Which texts are shown.
// Values of filters that are no names. A name that begins like them gets a star more, so that it is not one of them.
const HUMAN = "*human texts", NONE = "*none";
const coded = (name) => (name.startsWith("*") ? `*${name}` : name);
const spoken = (value) => visible(value.startsWith("*") ? value.slice(1) : value);

// The values of a filter, and the value of each point.
function filterValues(task) {
  const cells = task.cells, of = (name) => [...new Set(cells.map((cell) => coded(String(cell[name]))))];
  const facets = [["model", [HUMAN, ...of("model")], (cell) => (cell < 0 ? HUMAN : coded(cells[cell].model))]];
  for (const name of ["decoding", "seed"]) {
    if (of(name).length > 1) facets.push([name, of(name), (cell) => (cell < 0 ? null : coded(String(cells[cell][name])))]);
  }
  return facets;
}

// Whether a human text is reached by a shown cell: 1, 0, or null if none of them was compared with it.
function reached(task, place, cells) {
  let found = null;
  for (const cell of cells) {
    const inside = task.human[cell].inside[place];
    if (inside === 1) return 1;
    if (inside === 0) found = 0;
  }
  return found;
}

function shownCells() {
  const { task, state } = explorer;
  return task.cells.map((_, cell) => cell).filter((cell) =>
    filterValues(task).every(([name, , value]) => !state.off[name]?.includes(value(cell))));
}

function insideOf(place, cells) {
  const { task } = explorer;
  return place < task.humans ? reached(task, place, cells) : task.points.inside[place];
}

// The distance of a human text is that to the nearest text of the shown cells.
function valueOf(metric, place, cells) {
  const { task } = explorer;
  if (metric !== "distance" || place >= task.humans) return task.points.values[metric][place];
  let nearest = null;
  for (const cell of cells) {
    const distance = task.human[cell].distance[place];
    if (distance !== null && (nearest === null || distance < nearest)) nearest = distance;
  }
  return nearest;
}

function matches(place, query) {
  const { task } = explorer, prompt = task.points.prompt[place];
  task.lower ??= new Array(task.count);
  task.lower[place] ??= `${task.texts[place] ?? ""}\n${task.points.id[place]}\n${
    prompt === null ? "" : task.prompts[prompt]}`.toLowerCase();
  return task.lower[place].includes(query);
}

function computeShown() {
  const { task, state, cells } = explorer, { points } = task;
  const facets = filterValues(task).filter(([name]) => state.off[name]?.length);
  const cellShown = [-1, ...task.cells.keys()].map((cell) =>
    facets.every(([name, , value]) => !state.off[name].includes(value(cell))));
  const groups = task.groups.filter(({ name }) => state.off[`group ${name}`]?.length).map(({ name, labels }) => {
    const off = new Set(state.off[`group ${name}`]);
    const values = labels.map(coded);
    return (place) => !off.has(values[points.groups[name][place]] ?? NONE);
  });
  const off = state.off.support ?? [], words = ["outside", "inside"];
  const ranges = Object.entries(state.ranges).filter(([name]) => points.values[name]);
  const query = state.query.trim().toLowerCase(), axes = axisValues();
  const shown = new Uint8Array(task.count);
  for (let place = 0; place < task.count; place++) {
    if (!cellShown[points.cell[place] + 1]) continue;
    if (off.length && off.includes(words[insideOf(place, cells)] ?? "not compared")) continue;
    if (!groups.every((test) => test(place))) continue;
    if (!ranges.every(([name, [low, high]]) => {
      const value = valueOf(name, place, cells);
      return value !== null && value >= (low ?? -Infinity) && value <= (high ?? Infinity);
    })) continue;
    if (state.lasso && !inPolygon(axes.x[place], axes.y[place], state.lasso)) continue;
    if (query && !matches(place, query)) continue;
    shown[place] = 1;
  }
  return shown;
}

function drawFilters() {
  const { task, state } = explorer;
  const groups = task.groups.map(({ name, labels }) =>
    [`group ${name}`, [...labels.map(coded), ...(task.points.groups[name].includes(null) ? [NONE] : [])]]);
  const support = task.projection ? [["support", ["inside", "outside", "not compared"]]] : [];
  const boxes = [...filterValues(task), ...groups, ...support].map(([name, values]) =>
    element("fieldset", {}, element("legend", {}, visible(name.replace(/^group /, ""))), ...values.map((value) => {
      const box = element("input", { type: "checkbox", checked: !state.off[name]?.includes(value) });
      box.addEventListener("change", () => {
        const off = new Set(state.off[name]);
        if (box.checked) off.delete(value); else off.add(value);
        state.off[name] = [...off];
        refresh();
      });
      return element("label", {}, box, " ", element("bdi", {}, spoken(value)));
    })));
  $("boxes").replaceChildren(...boxes);
}

function drawRange() {
  const { task, state, cells, histogram } = explorer, [low, high] = state.ranges[state.metric] ?? [null, null];
  histogram.show(task.points.id.map((_, place) => valueOf(state.metric, place, cells)), low, high);
  for (const [name, bound, extreme] of [["low", low, histogram.low], ["high", high, histogram.high]]) {
    $(name).value = bound === null ? "" : Number(bound.toPrecision(6));
    $(name).placeholder = Number.isFinite(extreme) ? showNumber(extreme) : "";
  }
  const chip = (label, clear) => {
    const button = element("button", { type: "button" }, `${label} ✕`);
    button.setAttribute("aria-label", `Remove the filter: ${label}`);
    button.addEventListener("click", () => {
      clear();
      refresh();
      $("filters").querySelector("summary").focus(); // the button is gone
    });
    return button;
  };
  const chips = Object.entries(state.ranges).filter(([name]) => task.points.values[name]).map(([name, [from, to]]) => {
    const words = [from === null ? "" : ` from ${showNumber(from)}`, to === null ? "" : ` to ${showNumber(to)}`];
    return chip(labelOf(name) + words.join(""), () => { delete state.ranges[name]; });
  });
  if (state.lasso) chips.push(chip("lasso", () => { state.lasso = null; }));
  $("chips").replaceChildren(...chips);
}

// Show the texts within a range of the metric; null is an open end.
function setRange(low, high) {
  const { state } = explorer;
  if (low === null && high === null) delete state.ranges[state.metric];
  else state.ranges[state.metric] = low !== null && high !== null && low > high ? [high, low] : [low, high];
  refresh();
}

const labelOf = (metric) => explorer.task.metrics.find(({ name }) => name === metric)?.label ?? metric;
