const box = document.querySelector("#filter"), state = document.querySelector("#state");
const entries = [...document.querySelectorAll("ol > li")];
let contents;
box.addEventListener("input", () => {
  contents ??= entries.map((entry) => [...entry.querySelectorAll("bdi, .text")]
    .map((part) => part.textContent.toLowerCase()).join("\n"));
  const wanted = box.value.trim().toLowerCase();
  entries.forEach((entry, i) => { entry.hidden = !contents[i].includes(wanted); });
  const shown = entries.filter((entry) => !entry.hidden).length;
  state.textContent = wanted && `${shown} of ${entries.length} entries`;
});
box.parentElement.hidden = entries.length === 0;
