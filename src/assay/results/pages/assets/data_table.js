// A plain table in a box that scrolls if the page is narrow.

import { el } from "./dom.js";

// Numbers as numbers.js writes them; a column that contains only numbers is right-aligned.
const NUMBER = /^(?:–|[−-]?(?:\d[\d,]*(?:\.\d+)?)(?:e[+-]\d+)?[kMG]?(?: (?:%|µs|ms|s|min|h))?(?: \([\d.]+ %\))?)$/;

// `hasRowHeads`: the first cell of a row is its heading.
export function dataTable(headings, rows, label, { hasRowHeads = false } = {}) {
  const isNumber = headings.map((_, column) => rows.length > 0 && rows.every((row) => NUMBER.test(row[column])));
  const kind = (column) => ({ class: isNumber[column] ? "number" : null });
  const box = el("div", { class: "wide", role: "group", "aria-label": label },
    el("table", { class: "data" },
      el("thead", {}, el("tr", {}, headings.map((heading, column) => (heading ? el("th", { scope: "col", ...kind(column) }, heading) : el("td", kind(column)))))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, column) => (hasRowHeads && !column ? el("th", { scope: "row", ...kind(column) }, cell) : el("td", kind(column), cell))))))));
  requestAnimationFrame(() => {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
  });
  return box;
}
