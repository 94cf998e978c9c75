// A text with its prompt, its metrics and its neighbours; lists of texts.
const cellName = (cell) => {
  const { method, seed } = explorer.task.cells[cell];
  return `${method}, seed ${seed}`;
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
  button.addEventListener("click", () => select(place, true));
  return button;
}

const arrowOf = (better) => ({ higher: " ↑", lower: " ↓" })[better] ?? "";

// A metric and its value, as an entry of a list.
const fact = ({ label, says, better }, value, wins) => [
  element("dt", { title: says }, label + arrowOf(better)),
  element("dd", {}, wins ? element("strong", {}, `${showNumber(value)} (better)`) : showNumber(value))];

// The groups and metrics of a text; a value that is better than that of another text is marked.
function facts(place, cells, other = null) {
  const { task } = explorer, list = element("dl", { className: "x-facts" });
  const groups = task.groups.map(({ name, labels }) => [name, labels[task.points.groups[name][place]] ?? "none"]);
  for (const [name, value] of groups) list.append(element("dt", {}, name), element("dd", {}, element("bdi", {}, visible(value))));
  for (const metric of task.metrics) {
    const { name, better } = metric, value = valueOf(name, place, cells);
    if (value === null) continue;
    const rival = other === null ? null : valueOf(name, other, cells);
    list.append(...fact(metric, value, rival !== null && better && (better === "higher" ? value > rival : value < rival)));
  }
  return list;
}

async function support(place, cell) {
  const { task } = explorer, found = await neighboursOf(task, place, cell), human = place < task.humans;
  if (!found) return [element("p", {}, "This text was not compared with those of the other side.")];
  const inside = human ? task.human[cell].inside[place] : task.points.inside[place];
  const other = human ? "the generated texts" : "the human texts";
  const lines = [element("p", {}, element("strong", {}, `${inside ? "Inside" : "Outside"} the support of ${other}. `),
    await reason(found, place, cell, inside))];
  for (const [title, places, distances] of [
    [human ? "Nearest generated texts" : "Nearest human texts", found.other, found.otherDistance],
    [human ? "Nearest human texts" : "Nearest generated texts of the cell", found.own, found.ownDistance],
  ]) {
    lines.push(element("h4", {}, title));
    for (const [rank, neighbour] of places.entries()) {
      const distance = ` · distance ${showNumber(distances[rank])}`;
      if (neighbour === null) lines.push(element("p", {}, `a text that is not on this page${distance}`));
      else {
        await textOf(task, neighbour);
        lines.push(textButton(neighbour, distance));
      }
    }
  }
  return lines;
}

// A text is inside if it lies in the ball of any text of the other side, not only of the nearest.
async function reason(found, place, cell, inside) {
  const { task } = explorer;
  for (const [rank, neighbour] of found.other.entries()) {
    const ball = neighbour === null ? null : await neighboursOf(task, neighbour, cell);
    if (!ball) continue;
    const distance = found.otherDistance[rank];
    const measured = `${task.points.id[neighbour]} is at the distance ${showNumber(distance)}, and the radius of its ball, `
      + `the distance to its nearest text number ${task.k} of its own side, is ${showNumber(ball.radius)}.`;
    if (inside && distance < ball.radius) return `It lies in a ball: ${measured}`;
    if (!inside) return `The nearest one is too far: ${measured}`;
  }
  return inside ? "It lies in the ball of a text that is farther than the neighbours below." : "";
}

let drawn = 0;
async function drawDetail() {
  const { task, state } = explorer, panel = $("detail"), turn = ++drawn;
  const place = placeOf(state.point);
  if (place < 0) {
    panel.replaceChildren(element("p", {}, "Select a text on the map or in a list: its prompt, metrics and nearest neighbours are shown here."));
    return;
  }
  await textOf(task, place);
  const cells = shownCells(), own = task.points.cell[place];
  const cell = own >= 0 ? own : state.from ?? cells[0] ?? 0;
  const text = element("div"), prompt = promptOf(place);
  showText(text, task.texts[place], prompt);
  const parts = [element("small", {}, element("bdi", {}, visible(sideName(place)))),
    element("h3", {}, element("bdi", {}, visible(task.points.id[place])))];
  if (prompt !== null && !task.texts[place].startsWith(prompt)) {
    const shown = element("div");
    showText(shown, prompt);
    parts.push(element("h4", {}, "Prompt"), shown, element("h4", {}, "Text"));
  }
  parts.push(text, facts(place, cells));
  if (task.projection) {
    if (own < 0 && task.cells.length > 1) {
      const choice = element("select");
      fillSelect(choice, task.cells.map((_, other) => [String(other), cellName(other)]), String(cell));
      choice.addEventListener("change", () => { state.from = Number(choice.value); drawDetail(); });
      parts.push(element("label", {}, "Compared with ", choice));
    }
    parts.push(...await support(place, cell));
  }
  if (turn === drawn) panel.replaceChildren(...parts);
}

function placeOf(point) {
  if (!point) return -1;
  const { task } = explorer, first = task.firsts[point[0] + 1] ?? task.count;
  const place = task.points.id.indexOf(point[1], first);
  return place >= 0 && task.points.cell[place] === point[0] ? place : -1;
}

function select(place, focus = false) {
  const { task, state, plot } = explorer;
  const before = placeOf(state.point);
  if (before >= task.humans) state.from = task.points.cell[before];
  state.point = place < 0 ? null : [task.points.cell[place], task.points.id[place]];
  plot.chosen = place;
  plot.draw();
  for (const button of document.querySelectorAll("#x-list .x-item")) {
    button.toggleAttribute("aria-current", Number(button.dataset.place) === place);
    if (button.hasAttribute("aria-current")) button.setAttribute("aria-current", "true");
  }
  writeAddress(HASH, textsAddress);
  drawDetail().then(() => { if (focus) $("detail").focus(); }).catch(report);
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
