// The explorer: opens a task, and draws what changes.
function report(error) {
  $("status").textContent = error.message;
  console.error(error);
}

// Draw everything that depends on the filters.
function refresh() {
  const { task, state } = explorer;
  explorer.cells = shownCells();
  explorer.shown = computeShown();
  explorer.listed = 20;
  drawRange();
  drawList();
  if (state.tab === "map") drawMap();
  if (state.tab === "missed") drawMissed();
  if (state.tab === "pair") drawPair().catch(report);
  for (const button of document.querySelectorAll("#explorer [role=tab]")) {
    const chosen = button.dataset.tab === state.tab;
    button.setAttribute("aria-selected", chosen);
    button.tabIndex = chosen ? 0 : -1;
    $(button.dataset.tab).hidden = !chosen;
  }
  $("listing").hidden = state.tab !== "map";
  $("tab-missed").hidden = !task.projection;
  $("tab-pair").hidden = comparable().length < 2;
  $("no-pair").hidden = comparable().length >= 2;
  writeAddress(HASH, textsAddress);
}

function drawControls() {
  const { task, state } = explorer, map = task.projection ? [["map", "map"]] : [];
  const metrics = task.metrics.map(({ name, label }) => [name, label]), axes = [...map, ...metrics];
  const names = axes.map(([name]) => name);
  if (!names.includes(state.x)) state.x = names[0];
  if (!names.includes(state.y)) state.y = task.projection ? "map" : names[1] ?? names[0];
  if (!task.points.values[state.metric]) state.metric = "words";
  fillSelect($("x"), axes, state.x);
  fillSelect($("y"), axes, state.y);
  fillSelect($("metric"), metrics, state.metric);
  fillSelect($("colour"), [["method", "method"], ...(task.projection ? [["support", "inside or outside"]] : []),
    ...task.groups.map(({ name }) => [`group ${name}`, name]), ...metrics], state.colour);
  fillSelect($("order"), [["", "as given"], ...metrics.flatMap(([name, label]) =>
    [[`${name} up`, `${label}, ascending`], [`${name} down`, `${label}, descending`]])], state.order);
  $("query").value = state.query;
  $("note").textContent = task.note;
  drawFilters();
}

let opening = 0;
async function open(name, state) {
  const entry = explorerData.tasks.find((task) => task.name === name) ?? explorerData.tasks[0], turn = ++opening;
  const task = await taskOf(entry);
  await loadTexts(task, 0);
  if (turn !== opening) return;
  Object.assign(explorer, { task, state });
  explorer.place = placeOf(state.point);
  fillSelect($("task"), explorerData.tasks.map((found) => [found.name, found.title]), entry.name);
  if (state.tab === "missed" && !task.projection) state.tab = "map";
  if (state.tab === "pair" && comparable().length < 2) state.tab = "map";
  explorer.plot.view = state.view;
  drawControls();
  refresh();
  drawDetail().catch(report);
  loadRest(task).catch(report);
}

// Search needs all texts; those that are listed are loaded first.
async function loadRest(task) {
  if (task.complete) return;
  task.loading = true;
  for (let part = 1; part < task.entry.texts.length; part++) await loadTexts(task, part);
  Object.assign(task, { loading: false, complete: true, lower: undefined });
  if (explorer.task === task && (explorer.state.query || task.entry.texts.length > 1)) refresh();
}

function choose(name, key, then = refresh) {
  $(name).addEventListener("change", (event) => {
    explorer.state[key] = event.target.value;
    then();
  });
}

function connect() {
  explorer.plot = new Scatter($("canvas"), {
    select: (place) => { if (place !== explorer.place) select(place); },
    hover: showTip,
    lasso: (polygon) => { explorer.state.lasso = polygon; refresh(); },
    view: (view) => { explorer.state.view = view; writeAddress(HASH, textsAddress); },
  });
  explorer.histogram = new Histogram($("histogram"), setRange);
  $("task").addEventListener("change", (event) => {
    const { tab, query } = explorer.state;
    open(event.target.value, { ...newState(), tab, query }).catch((error) => {
      $("task").value = explorer.task.entry.name;
      report(error);
    });
  });
  let typing = 0;
  $("query").addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => { explorer.state.query = event.target.value; refresh(); }, 150);
  });
  for (const name of ["x", "y"]) {
    choose(name, name, () => {
      explorer.plot.view = explorer.state.view = null;
      explorer.state.lasso = null; // it was drawn in other units
      refresh();
    });
  }
  choose("colour", "colour");
  choose("metric", "metric", () => { drawRange(); writeAddress(HASH, textsAddress); });
  choose("order", "order");
  for (const [name, place] of [["low", 0], ["high", 1]]) {
    $(name).addEventListener("change", (event) => {
      const range = [...(explorer.state.ranges[explorer.state.metric] ?? [null, null])];
      range[place] = event.target.value === "" ? null : Number(event.target.value);
      setRange(...range);
    });
  }
  $("clear").addEventListener("click", () => {
    Object.assign(explorer.state, noFilters());
    drawControls();
    refresh();
  });
  $("lasso").addEventListener("click", (event) => {
    explorer.plot.setLassoing(!explorer.plot.lassoing);
    event.target.setAttribute("aria-pressed", explorer.plot.lassoing);
  });
  $("in").addEventListener("click", () => explorer.plot.zoom(1.5));
  $("out").addEventListener("click", () => explorer.plot.zoom(1 / 1.5));
  $("reset").addEventListener("click", () => explorer.plot.reset());
  $("more").addEventListener("click", () => { explorer.listed += 20; drawList(); });
  $("link").addEventListener("click", copyLink);
  $("cell").addEventListener("change", (event) => { explorer.state.cell = Number(event.target.value); refresh(); });
  for (const [name, place] of [["left", 0], ["right", 1]]) {
    $(name).addEventListener("change", (event) => {
      explorer.state.pair = [Number($("left").value), Number($("right").value)];
      explorer.state.pair[place] = Number(event.target.value);
      refresh();
    });
  }
  choose("prompt", "prompt");
  for (const [name, step] of [["previous", -1], ["next", 1]]) {
    $(name).addEventListener("click", () => {
      const { prompts } = explorer;
      explorer.state.prompt = String(prompts[prompts.indexOf(Number($("prompt").value)) + step]);
      refresh();
    });
  }
  connectTabs();
  if (matchMedia("(min-width: 60rem)").matches) $("filters").open = true;
  followAddress(document.querySelector("#texts"), HASH, () => {
    const given = readAddress() ?? newState();
    return open(given.task, given).catch(report);
  });
}

function connectTabs() {
  const tabs = [...document.querySelectorAll("#explorer [role=tab]")];
  const show = (tab) => {
    explorer.state.tab = tab.dataset.tab;
    refresh();
    tab.focus();
  };
  for (const tab of tabs) {
    tab.addEventListener("click", () => show(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const open = tabs.filter((other) => !other.hidden);
      show(open[(open.indexOf(tab) + step + open.length) % open.length]);
      event.preventDefault();
    });
  }
}

function showTip(place, left, top) {
  placeTip($("tip"), place < 0 ? null
    : [element("small", {}, visible(sideName(place))), element("br"), firstWords(explorer.task.texts[place], 160)], left, top);
}

// Show a tip beside the pointer; null hides it.
function placeTip(tip, content, left, top) {
  tip.hidden = content === null;
  if (tip.hidden) return;
  tip.replaceChildren(...content);
  const room = tip.parentElement.clientWidth;
  tip.style.left = `${Math.min(left + 12, Math.max(0, room - tip.offsetWidth))}px`;
  tip.style.top = `${top + 12}px`;
}

async function copyLink() {
  const button = $("link"), usual = button.textContent;
  history.replaceState(SEEN, "", textsAddress());
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Link copied";
    setTimeout(() => { button.textContent = usual; }, 2000);
  } catch {
    $("status").textContent = "copy the address of this page: it has all settings";
  }
}

if (explorerData.tasks.length) connect();
