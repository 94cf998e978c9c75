// The criteria of ranked methods: their means, the Pareto front, and the prompts on which one of two dominates.
const CRITERIA_HASH = "#criteria?";
const OUTCOMES = ["first", "second", "neither"];
const criteria = { ranking: null, state: null, plot: null };

async function openRanking(entry) {
  const data = await loadChunk(entry.data);
  const bytes = Uint8Array.from(atob(data.values), (character) => character.charCodeAt(0));
  return { entry, ...data, values: new Float64Array(bytes.buffer) };
}

const newCriteriaState = () => ({ x: "", y: "", colour: null, first: "", second: "", outcome: "", compared: "" });

function readCriteriaAddress() {
  if (!location.hash.startsWith(CRITERIA_HASH)) return null;
  const state = newCriteriaState(), given = new URLSearchParams(location.hash.slice(CRITERIA_HASH.length));
  for (const key of Object.keys(state)) if (given.has(key)) state[key] = given.get(key);
  return { name: given.get("ranking"), state };
}

function criteriaAddress() {
  const { ranking, state } = criteria;
  return CRITERIA_HASH + new URLSearchParams({ ranking: ranking.entry.name, ...state });
}

// The score of a method on a prompt; NaN without a value.
const scoreOf = ({ criteria: named, methods, values }, prompt, method, criterion) =>
  values[(prompt * methods.length + method) * named.length + criterion];

// 1 if a score is better than another, -1 if it is worse. No value is the worst.
function compareScores(one, other, better) {
  const up = (value) => (Number.isNaN(value) ? -Infinity : better === "higher" ? value : -value);
  return Math.sign(up(one) - up(other)) || 0; // the difference of two worst values is NaN
}

// Which of two methods dominates the other on each prompt.
function outcomesOf(ranking, first, second) {
  return ranking.prompts.map((_, prompt) => {
    const signs = ranking.criteria.map(({ better }, criterion) =>
      compareScores(scoreOf(ranking, prompt, first, criterion), scoreOf(ranking, prompt, second, criterion), better));
    const [better, worse] = [signs.includes(1), signs.includes(-1)];
    return better === worse ? "neither" : better ? "first" : "second";
  });
}

function drawMeans() {
  const { ranking, state, plot } = criteria, { methods, pareto } = ranking;
  const axis = (name) => ranking.criteria.find((criterion) => criterion.name === name);
  const values = (name) => Float32Array.from(axis(name).means, (value) => value ?? NaN);
  const x = values(state.x), y = values(state.y);
  const kind = ranking.kinds.find(({ name }) => name === state.colour);
  const labels = kind ? [...new Set(kind.labels)] : [];
  const colour = methods.map((_, method) => (kind ? labels.indexOf(kind.labels[method]) % PALETTE.length : 0));
  plot.chosen = methods.indexOf(state.first);
  plot.show({ x, y, shown: x.map((value, method) => !Number.isNaN(value) && !Number.isNaN(y[method])), colour,
    shape: pareto.map((on) => (on ? DISC : RING)), colours: PALETTE, equal: false, names: methods.map(visible),
    labels: [state.x, state.y].map((name) => axisLabel(axis(name).label, axis(name).better)) });
  $("means-legend").replaceChildren(legendEntry("--human", DISC, "on the Pareto front"),
    legendEntry("--human", RING, "dominated in the means"),
    ...labels.slice(0, 20).map((label, place) => legendEntry(PALETTE[place % PALETTE.length], DISC, label)));
  const named = ranking.criteria.map(({ label, better }) => label + arrowOf(better)).join(", ");
  $("means-caption").textContent = `Means over ${ranking.prompts.length.toLocaleString("en")} prompts. The Pareto front is that of `
    + `all criteria (${named}): no other method is better in one and not worse in any. Select a method to compare it below.`;
}

// The texts of a method on a prompt: the task and the places; an empty list if they are not on this page.
async function textsOf(ranking, prompt, method) {
  const name = ranking.prompts[prompt], slash = name.indexOf("/");
  const entry = explorerData.tasks.find((task) => task.name === name.slice(0, slash));
  const cells = ranking.cells[entry?.name];
  if (!cells) return { task: null, places: [] };
  const task = await taskOf(entry);
  task.byPromptId ??= Map.groupBy(task.points.prompt.keys(), (place) => task.prompt_ids[task.points.prompt[place]]);
  const found = task.byPromptId.get(name.slice(slash + 1)) ?? [];
  return { task, places: found.filter((place) => cells[task.points.cell[place]] === method) };
}

async function sideOf(ranking, prompt, method, other) {
  const list = element("dl", { className: "x-facts" });
  ranking.criteria.forEach((metric, criterion) => {
    const [value, rival] = [method, other].map((which) => scoreOf(ranking, prompt, which, criterion));
    list.append(...fact(metric, value, compareScores(value, rival, metric.better) > 0));
  });
  const { task, places } = await textsOf(ranking, prompt, method), texts = [];
  for (const place of places) {
    const text = element("div"), number = task.points.prompt[place];
    showText(text, await textOf(task, place), number === null ? null : task.prompts[number]);
    const point = `${task.points.cell[place]},${task.points.id[place]}`;
    const link = element("a", { href: HASH + new URLSearchParams({ task: task.entry.name, point }) }, "Neighbours and more metrics");
    link.setAttribute("aria-label", `Neighbours and more metrics of ${task.points.id[place]}`);
    texts.push(text, element("small", {}, link));
  }
  if (!texts.length) texts.push(element("p", { className: "note" }, "The text is not on this page."));
  return element("div", {}, element("h4", {}, isolated(ranking.methods[method])), list, ...texts);
}

let compared = 0;
async function drawCompared() {
  const { ranking, state } = criteria, turn = ++compared;
  const [first, second] = [state.first, state.second].map((name) => ranking.methods.indexOf(name));
  const outcomes = outcomesOf(ranking, first, second);
  const counts = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, outcomes.filter((found) => found === outcome).length]));
  if (!counts[state.outcome]) state.outcome = OUTCOMES.find((outcome) => counts[outcome]);
  const labels = { first: state.first, second: state.second, neither: "neither" };
  $("outcomes").replaceChildren(...OUTCOMES.map((outcome) => {
    const label = isolated(labels[outcome]);
    const button = element("button", { type: "button", disabled: !counts[outcome] }, label, ` dominates: ${counts[outcome]}`);
    button.dataset.outcome = outcome;
    button.setAttribute("aria-pressed", outcome === state.outcome);
    button.addEventListener("click", () => {
      state.outcome = outcome;
      changed();
      document.querySelector(`#x-outcomes [data-outcome=${outcome}]`).focus();
    });
    return button;
  }));
  const prompts = [...outcomes.keys()].filter((prompt) => outcomes[prompt] === state.outcome);
  const names = prompts.map((prompt) => ranking.prompts[prompt]);
  if (!names.includes(state.compared)) state.compared = names[0];
  fillSelect($("compared"), names.map((name) => [name, name]), state.compared);
  criteria.names = names;
  $("compared-previous").disabled = names[0] === state.compared;
  $("compared-next").disabled = names.at(-1) === state.compared;
  const prompt = ranking.prompts.indexOf(state.compared);
  const sides = await Promise.all([[first, second], [second, first]].map(([one, other]) => sideOf(ranking, prompt, one, other)));
  const { task, places } = await textsOf(ranking, prompt, first);
  if (turn !== compared) return;
  $("compared-sides").replaceChildren(...sides);
  $("compared-prompt").hidden = !places.length;
  if (places.length) showText($("compared-prompt"), task.prompts[task.points.prompt[places[0]]]);
}

function changed() {
  drawMeans();
  writeAddress(CRITERIA_HASH, criteriaAddress);
  return drawCompared().catch(reportCriteria);
}

function reportCriteria(error) {
  $("criteria-status").textContent = error.message;
  console.error(error);
}

let showing = 0;
async function showRanking(name, state) {
  const entry = explorerData.rankings.find((ranking) => ranking.name === name) ?? explorerData.rankings[0];
  const turn = ++showing, ranking = await openRanking(entry);
  if (turn !== showing) return;
  const names = ranking.criteria.map((criterion) => criterion.name);
  const kinds = ranking.kinds.filter(({ labels }) => new Set(labels).size > 1).map((kind) => kind.name);
  const pick = (key, known, usual) => { if (!known.includes(state[key])) state[key] = usual ?? known[0]; };
  pick("x", names);
  pick("y", names, names[1]);
  pick("colour", ["", ...kinds], kinds[0] ?? "");
  pick("first", ranking.methods);
  pick("second", ranking.methods, ranking.methods.find((method) => method !== state.first));
  Object.assign(criteria, { ranking, state });
  criteria.plot.view = null;
  fillSelect($("ranking"), explorerData.rankings.map((found) => [found.name, found.name]), entry.name);
  const axes = ranking.criteria.map((criterion) => [criterion.name, criterion.label]);
  fillSelect($("criterion-x"), axes, state.x);
  fillSelect($("criterion-y"), axes, state.y);
  fillSelect($("kind"), [["", "none"], ...kinds.map((kind) => [kind, kind])], state.colour);
  drawMethods();
  await changed();
}

function drawMethods() {
  const { ranking, state } = criteria, names = ranking.methods.map((method) => [method, visible(method)]);
  fillSelect($("first"), names, state.first);
  fillSelect($("second"), names, state.second);
}

function connectCriteria() {
  criteria.plot = new Scatter($("means"), {
    select: (method) => {
      const { ranking, state } = criteria;
      if (method < 0 || ranking.methods[method] === state.first) return;
      [state.first, state.second] = [ranking.methods[method], state.first];
      drawMethods();
      changed();
    },
    hover: (method, left, top) => placeTip($("means-tip"), method < 0 ? null : [methodTip(method)], left, top),
    view: () => {},
  });
  $("ranking").addEventListener("change", (event) => showRanking(event.target.value, newCriteriaState()).catch(reportCriteria));
  const keys = { "criterion-x": "x", "criterion-y": "y", kind: "colour", first: "first", second: "second", compared: "compared" };
  for (const [name, key] of Object.entries(keys)) {
    $(name).addEventListener("change", (event) => {
      const { state } = criteria, other = { first: "second", second: "first" }[key];
      if (other && state[other] === event.target.value) state[other] = state[key]; // exchange the two
      state[key] = event.target.value;
      if (other) drawMethods();
      if (["x", "y"].includes(key)) criteria.plot.view = null;
      changed();
    });
  }
  for (const [name, step] of [["previous", -1], ["next", 1]]) {
    $(`compared-${name}`).addEventListener("click", () => {
      const { names, state } = criteria;
      state.compared = names[names.indexOf(state.compared) + step];
      changed();
    });
  }
  $("means-in").addEventListener("click", () => criteria.plot.zoom(1.5));
  $("means-out").addEventListener("click", () => criteria.plot.zoom(1 / 1.5));
  $("means-reset").addEventListener("click", () => criteria.plot.reset());
  followAddress($("criteria"), CRITERIA_HASH, () => {
    const given = readCriteriaAddress();
    return showRanking(given?.name, given?.state ?? newCriteriaState()).catch(reportCriteria);
  });
}

function methodTip(method) {
  const { ranking } = criteria;
  const means = ranking.criteria.map(({ label, means: of }) => `${label} ${showNumber(of[method])}`).join(", ");
  return element("span", {}, isolated(ranking.methods[method]), `: ${means}`);
}

if (explorerData.rankings.length) connectCriteria();
moveToAddress();
