// A text with its prompt, its metrics and its neighbours; lists of texts.
const cellName = (cell) => {
  const { cells } = explorer.task, { method, seed } = cells[cell];
  return cells.some((other) => other.seed !== seed) ? `${method}, seed ${seed}` : method;
};
const sideName = (place) => {
  const cell = explorer.task.points.cell[place];
  return cell < 0 ? "human" : cellName(cell);
};
const promptOf = (place) => {
  const { points, prompts } = explorer.task;
  return points.prompt[place] === null ? null : prompts[points.prompt[place]];
};

// A button that selects a text.
function textButton(place, more = "") {
  const { task } = explorer;
  const words = element("span", { dir: "auto" }, firstWords(task.texts[place]));
  const label = element("small", {}, element("bdi", {}, visible(sideName(place))), " · ",
    element("bdi", {}, visible(task.points.id[place])), more);
  const button = element("button", { type: "button", className: "x-item" }, label, words);
  button.dataset.place = place;
  if (place === explorer.place) button.setAttribute("aria-current", "true");
  button.addEventListener("click", () => select(place, true));
  return button;
}

const arrowOf = (better) => ({ higher: " ↑", lower: " ↓" })[better] ?? "";

// The label of an axis, with an arrow towards better values: the vertical one is turned, and its arrow with it.
const axisLabel = (label, better) => ({ higher: `${label} (better →)`, lower: `(← better) ${label}` })[better] ?? label;

// A metric and its value, as an entry of a list.
const fact = ({ label, says, better }, value, wins) => [
  element("dt", { title: says }, label + arrowOf(better)),
  element("dd", {}, wins ? element("strong", {}, `${showNumber(value)} (better)`) : showNumber(value))];

// The groups and metrics of a text; a value that is better than that of another text is marked.
function facts(place, cells, other = null) {
  const { task } = explorer, list = element("dl", { className: "x-facts" });
  const groups = task.groups.map(({ name, labels }) => [name, labels[task.points.groups[name][place]] ?? "none"]);
  for (const [name, value] of groups) list.append(element("dt", {}, visible(name)), element("dd", {}, element("bdi", {}, visible(value))));
  for (const metric of task.metrics) {
    const { name, better } = metric, value = valueOf(name, place, cells);
    if (value === null) continue;
    const rival = other === null ? null : valueOf(name, other, cells);
    list.append(...fact(metric, value, rival !== null && better && (better === "higher" ? value > rival : value < rival)));
  }
  return list;
}

async function support(task, place, cell) {
  const found = await neighboursOf(task, place, cell), human = place < task.humans;
  if (!found) return [element("p", {}, "This text was not compared: precision and recall use as many texts of each side (N), the first ones, and this is not among them.")];
  const inside = human ? task.human[cell].inside[place] : task.points.inside[place];
  const why = await reason(task, found, cell, inside);
  await Promise.all([...found.other, ...found.own].filter((near) => near !== null).map((near) => textOf(task, near)));
  if (task !== explorer.task) return []; // another one was opened meanwhile
  const other = human ? "the generated texts" : "the human texts";
  const lines = [element("p", {}, element("strong", {}, `${inside ? "Inside" : "Outside"} the support of ${other}. `), ...why)];
  for (const [title, places, distances] of [
    [human ? "Nearest generated texts" : "Nearest human texts", found.other, found.otherDistance],
    [human ? "Nearest human texts" : "Nearest generated texts of the cell", found.own, found.ownDistance],
  ]) {
    lines.push(element("h4", {}, title), ...places.map((near, rank) => {
      const distance = ` · distance ${showNumber(distances[rank])}`;
      return near === null ? element("p", {}, `a text that is not on this page${distance}`) : textButton(near, distance);
    }));
  }
  return lines;
}

// A text is inside if it lies in the ball of any text of the other side, not only of the nearest.
async function reason(task, found, cell, inside) {
  for (const [rank, near] of found.other.entries()) {
    if (near === null || (!inside && rank > 0)) continue;
    const ball = await neighboursOf(task, near, cell), distance = found.otherDistance[rank];
    const measured = [element("bdi", {}, visible(task.points.id[near])), ` is at the distance ${showNumber(distance)}, `
      + `and the radius of its ball, the distance to its nearest text number ${task.k} of its own side, is ${showNumber(ball.radius)}.`];
    if (!inside) return ["The nearest one is too far: ", ...measured];
    if (distance <= ball.radius) return ["It lies in a ball: ", ...measured];
  }
  return inside ? ["It lies in the ball of a text that is farther than those below."] : [];
}

let drawn = 0;
async function drawDetail() {
  const { task, state } = explorer, panel = $("detail"), turn = ++drawn, { place } = explorer;
  if (place < 0) {
    const dead = explorer.state.point
      ? "The text that this link names is not on this page: the results may have changed since. " : "";
    panel.replaceChildren(element("p", {}, `${dead}Select a text on the map or in a list: its prompt, metrics and nearest neighbours are shown here.`));
    return;
  }
  await textOf(task, place);
  if (turn !== drawn) return;
  const own = task.points.cell[place], cell = own >= 0 ? own : task.cells[state.from] ? state.from : 0;
  const text = element("div"), prompt = promptOf(place);
  showText(text, task.texts[place], prompt);
  const parts = [element("small", {}, element("bdi", {}, visible(sideName(place)))),
    element("h3", {}, element("bdi", {}, visible(task.points.id[place])))];
  if (prompt !== null && !task.texts[place].startsWith(prompt)) {
    const shown = element("div");
    showText(shown, prompt);
    parts.push(element("h4", {}, "Prompt"), shown, element("h4", {}, "Text"));
  }
  parts.push(text, facts(place, [cell]));
  if (task.projection) {
    if (own < 0 && task.cells.length > 1) {
      const choice = element("select");
      fillSelect(choice, task.cells.map((_, other) => [String(other), cellName(other)]), String(cell));
      choice.addEventListener("change", () => {
        state.from = Number(choice.value);
        writeAddress(HASH, textsAddress);
        drawDetail().then(() => panel.querySelector("select")?.focus()).catch(report);
      });
      parts.push(element("label", {}, "Compared with ", choice));
    }
    parts.push(...await support(task, place, cell));
  }
  if (turn === drawn) panel.replaceChildren(...parts);
}

function placeOf(point) {
  if (!point) return -1;
  const { task } = explorer, first = task.firsts[point[0] + 1] ?? task.count;
  const place = task.points.id.indexOf(point[1], first);
  return place >= 0 && task.points.cell[place] === point[0] ? place : -1;
}

// Select a text; a human one is compared with a cell, by default that of the text that was selected before.
function select(place, focus = false, from = null) {
  const { task, state, plot } = explorer;
  takeStep(HASH, textsAddress, () => {
    state.from = from ?? (explorer.place >= task.humans ? task.points.cell[explorer.place] : state.from);
    state.point = place < 0 ? null : [task.points.cell[place], task.points.id[place]];
  });
  explorer.place = plot.chosen = place;
  plot.draw();
  for (const button of document.querySelectorAll("#x-list .x-item")) {
    if (Number(button.dataset.place) === place) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  drawDetail().then(() => {
    if (focus) $("detail").focus();
    // On a phone, the text stands below the map: it comes into view after a tap.
    if (place >= 0 && matchMedia("(max-width: 60rem)").matches) $("detail").scrollIntoView({ block: "start" });
  }).catch(report);
}

// Texts under a title, some at a time.
function section(title, places, row, size = 20) {
  const body = element("div"), more = element("button", { type: "button" }, "Show more");
  let count = 0;
  const add = async () => {
    const next = places.slice(count, count + size);
    count += next.length;
    for (const place of next) body.append(await row(place));
    more.hidden = count >= places.length;
  };
  more.addEventListener("click", () => add().catch(report));
  add().catch(report);
  return element("section", {}, element("h3", {}, element("bdi", {}, visible(title))), body, more);
}
