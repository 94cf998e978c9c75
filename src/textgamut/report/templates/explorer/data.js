// The data of the texts: chunks of JSON within the page, or scripts beside it, since a page that is opened from
// disk cannot fetch JSON.
const explorerData = JSON.parse(document.querySelector("#explorer-data").textContent);
const chunks = new Map(), arrivals = new Map();
globalThis.textgamutChunk = (name, content) => arrivals.get(name)?.(content);

function loadChunk(name) {
  if (!chunks.has(name)) {
    chunks.set(name, explorerData.folder === null ? inlineChunk(name) : scriptChunk(name));
  }
  return chunks.get(name);
}

async function inlineChunk(name) {
  const element = document.querySelector(`script[data-chunk="${name}"]`);
  const content = JSON.parse(element.textContent);
  element.remove(); // its text is not needed twice
  return content;
}

function scriptChunk(name) {
  return new Promise((resolve, reject) => {
    const file = `${explorerData.folder}/${name}.js`, script = document.createElement("script");
    const end = (problem) => {
      script.remove();
      if (!arrivals.delete(name)) return; // it has arrived
      chunks.delete(name); // the next call tries again
      reject(new Error(`${file} ${problem}`));
    };
    arrivals.set(name, (content) => {
      arrivals.delete(name);
      resolve(content);
    });
    script.src = file;
    script.addEventListener("error", () => end("cannot be loaded: it must be beside this page."));
    script.addEventListener("load", () => end("is damaged: make this page again."));
    document.head.append(script);
  });
}

// A task with its columns; its texts arrive chunk by chunk.
async function openTask(entry) {
  const columns = await loadChunk(entry.columns), points = columns.points;
  const count = points.cell.length, firsts = [];
  points.cell.forEach((cell, place) => { firsts[cell + 1] ??= place; });
  return { entry, ...columns, count, texts: new Array(count), humans: points.cell.lastIndexOf(-1) + 1, firsts };
}

const openTasks = new Map();
const taskOf = (entry) => {
  if (!openTasks.has(entry.name)) {
    const opened = openTask(entry);
    opened.catch(() => openTasks.delete(entry.name)); // the next call tries again
    openTasks.set(entry.name, opened);
  }
  return openTasks.get(entry.name);
};

async function loadTexts(task, part) {
  const texts = await loadChunk(task.entry.texts[part]), start = part * task.entry.rows_per_chunk;
  for (let row = 0; row < texts.length; row++) task.texts[start + row] = texts[row];
}

async function textOf(task, place) {
  if (task.texts[place] === undefined) await loadTexts(task, Math.floor(place / task.entry.rows_per_chunk));
  return task.texts[place];
}

// The neighbours of a point as seen by a cell; null if the point was not compared.
async function neighboursOf(task, place, cell) {
  if (!task.entry.neighbours.length) return null;
  const chunk = await loadChunk(task.entry.neighbours[cell]), human = place < task.humans;
  const side = human ? chunk.human : chunk.generated, row = human ? place : place - task.firsts[cell + 1];
  const of = (name) => side[name][row];
  if (!of("own")) return null;
  return { radius: of("radius"), own: of("own"), ownDistance: of("own_distance"), other: of("other"),
    otherDistance: of("other_distance") };
}
