// Elements, and untrusted texts: always as text nodes, never as HTML.
const MOST_CHARACTERS = 5000;
const $ = (name) => document.querySelector(`#x-${name}`);

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value; else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Control characters become visible.
function visible(text) {
  return text.replace(/\r\n?/g, "\n").replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, (found) => {
    const code = found.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\ufffd";
  });
}

// A label within other words, whose direction it does not change.
const isolated = (label) => element("bdi", {}, visible(label));

function showText(target, text, prompt = null) {
  target.className = "x-text";
  target.dir = "auto";
  target.lang = explorer.task.language ?? ""; // Chinese and Japanese write some characters differently
  if (!text.trim()) {
    target.replaceChildren(element("em", {}, "(an empty text)"));
    return;
  }
  const cut = text.length > MOST_CHARACTERS, shown = visible(beginning(text, MOST_CHARACTERS));
  const start = prompt && shown.startsWith(visible(prompt)) ? visible(prompt).length : 0;
  target.replaceChildren(element("span", { className: "x-prompt" }, shown.slice(0, start)), shown.slice(start));
  if (cut) {
    const button = element("button", { type: "button" }, `Show all ${text.length.toLocaleString("en")} characters`);
    button.addEventListener("click", () => target.replaceChildren(visible(text)));
    target.append("… ", button);
  }
}

const firstWords = (text, length = 110) => {
  const shown = visible(text ?? "…").trim();
  return !shown ? "(an empty text)" : shown.length > length ? `${beginning(shown, length)}…` : shown;
};

// The beginning of a text, up to a length; it ends between two characters as readers see them, such as emoji.
function beginning(text, length) {
  if (text.length <= length) return text;
  const { index } = new Intl.Segmenter("en", { granularity: "grapheme" }).segment(text).containing(length);
  return text.slice(0, index || length);
}

const showNumber = (value) => value === null || value === undefined || Number.isNaN(value) ? "—"
  : Number.isInteger(value) ? String(value) : value.toPrecision(3).replace(/e\+?/, "e");

function fillSelect(select, options, chosen) {
  select.replaceChildren(...options.map(([value, label]) => element("option", { value }, label)));
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}
