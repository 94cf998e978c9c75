// The search page: excerpts from PAGE_TEXTS instead of requests, and results for messages with names of one's own.
document.addEventListener("DOMContentLoaded", () => {
  const request = window.fetch;
  window.fetch = (address, ...options) => {
    const page = String(address).replace(/^(\.\/)+/, "").replace(/\.html$/, "");
    if (!(page in PAGE_TEXTS)) return request(address, ...options);
    const main = document.createElement("div");
    main.setAttribute("role", "main");
    main.textContent = PAGE_TEXTS[page];
    return Promise.resolve({ text: () => Promise.resolve(main.outerHTML) });
  };

  // The excerpt is where most of the words stand together; Sphinx shows where one of them stands first.
  const LENGTH = 240;
  Search.makeSearchSummary = (html, words, anchor) => {
    const text = Search.htmlToText(html, anchor).trim();
    const lower = text.toLowerCase();
    const places = [];
    for (const word of words)
      for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + 1)) places.push([at, word]);
    places.sort((a, b) => a[0] - b[0]);
    let [start, most] = [0, 0];
    places.forEach(([at], first) => {
      const near = places.slice(first).filter(([other]) => other < at + LENGTH);
      const different = new Set(near.map(([, word]) => word)).size;
      if (different > most) [start, most] = [Math.max(at - 40, 0), different];
    });
    const summary = document.createElement("p");
    summary.classList.add("context");
    const end = start + LENGTH + 40;
    summary.textContent = (start ? "..." : "") + text.slice(start, end).trim() + (end < text.length ? "..." : "");
    return summary;
  };

  // Sphinx wants all words on a page, but a message quotes names and numbers that no page knows: of three words and
  // more, half are enough for a place below the pages that have all. Of a message, Troubleshooting comes first.
  const search = Search.performTermsSearch;
  const MESSAGE = { words: 5, page: "how-to/troubleshooting", score: 1000 };
  Search.performTermsSearch = (terms, excluded) => {
    const found = search(terms, excluded);
    if (terms.size < 3) return found;
    const pages = new Map();
    for (const term of terms)
      for (const result of search(new Set([term]), excluded)) {
        const page = pages.get(result[0]) || { count: 0, result };
        page.count += 1;
        pages.set(result[0], page);
      }
    for (const result of found) pages.set(result[0], { count: terms.size, result });
    const shown = [...pages.values()].filter(({ count }) => count * 2 >= terms.size);
    for (const { count, result } of shown) {
      if (count < terms.size) result[4] = count / terms.size;
      if (terms.size >= MESSAGE.words && result[0] === MESSAGE.page) result[4] += MESSAGE.score;
    }
    return shown.map(({ result }) => result);
  };
});
