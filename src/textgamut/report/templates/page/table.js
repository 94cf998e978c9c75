// Sort tables by their columns: a click on a heading, then the other direction with the next one.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  if (body.rows.length < 2) continue;
  headings.forEach((heading, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      // Numbers from the highest first, names from A.
      const before = heading.getAttribute("aria-sort"), numeric = heading.classList.contains("number");
      const first = numeric ? "descending" : "ascending", second = numeric ? "ascending" : "descending";
      const order = before === first ? second : first;
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", order);
      const value = (row) => row.cells[place].dataset.value;
      body.append(...[...body.rows].sort((a, b) => {
        if (value(a) === "" || value(b) === "") return (value(a) === "") - (value(b) === "");
        const difference = numeric ? value(a) - value(b) : value(a).localeCompare(value(b));
        return order === "ascending" ? difference : -difference;
      }));
    });
  });
}

// Say which tables are wider than the page; those in details are measured when they are opened.
const measure = () => {
  for (const wide of document.querySelectorAll(".wide"))
    wide.querySelector("caption")?.classList.toggle("scrolls", wide.scrollWidth > wide.clientWidth + 1);
};
addEventListener("resize", measure);
for (const details of document.querySelectorAll("details.more")) details.addEventListener("toggle", measure);
measure();
