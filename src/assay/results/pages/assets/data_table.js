// A plain table, in a box of its own that scrolls when the page is narrow.

import { el } from "./dom.js";

// A column of nothing but numbers, as numbers.js writes them, is set to the right.
const NUMBER = /^(?:–|[−-]?(?:\d[\d,]*(?:\.\d+)?)(?:e[+-]\d+)?(?: (?:%|ms|s))?)$/;

export function dataTable(headings, rows, label) {
  const isNumber = headings.map((_, column) => rows.length > 0 && rows.every((row) => NUMBER.test(row[column])));
  const kind = (column) => ({ class: isNumber[column] ? "number" : null });
  return el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": label },
    el("table", { class: "data" },
      el("thead", {}, el("tr", {}, headings.map((heading, column) => el("th", { scope: "col", ...kind(column) }, heading)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, column) => el("td", kind(column), cell)))))));
}
