// The comparison page: differences between runs with their significance, and every sample side by side.

import { el, replace, userText } from "./dom.js";
import { onState, setState, stateNow } from "./address.js";
import { count, fixed } from "./numbers.js";
import { forest } from "./compare_forest.js";
import { CompareTable } from "./compare_table.js";
import { showPair } from "./compare_sample.js";
import { CompareFile, CompareServer } from "./compare_source.js";

const MANY = 12;

// Returns a side's letter in its colour.
export function badge(page, side) {
  return el("span", { class: `side series-${side % 6}` }, page.letters[side]);
}

function header(page) {
  return el("header", { class: "run-head" },
    el("p", { class: "kicker" }, "Comparison"),
    el("h1", {}, page.sides.map((side, at) => [at ? el("span", { class: "faint" }, " vs ") : null, userText(side.name)])),
    el("ul", { class: "sides" }, page.sides.map((side, at) => el("li", {}, badge(page, at), " ", userText(side.name),
      side.model === side.name ? null : el("span", { class: "faint" }, " · ", userText(side.model)),
      side.usd === null ? null : el("span", { class: "faint" }, ` · cost ${side.usd.toPrecision(2)} USD`),
      side.method ? el("span", { class: "faint" }, ` · ${side.method}`) : null,
      page.in_file ? el("span", { class: "faint" }, " · ", userText(side.run)) : [" · ", el("a", { href: `/runs/${encodeURIComponent(side.folder)}` }, userText(side.run))]))));
}

function sentences(page) {
  return el("ul", { class: "sentences" }, page.summary ? el("li", {}, page.summary) : null,
    page.notable.map((at) => page.rows[at]).map((row) => el("li", { class: row.is_real ? "real" : "" },
      el("b", {}, userText(row.label), " · ", userText(row.title)), ": ", row.sentence)));
}

// Returns the rows of the method and pair in the address: of one task, or of all tasks if the address names none.
function chosenRows(page, table) {
  const { method, pair, task } = table.chosen;
  return page.rows.filter((row) => !row.is_mean && row.method === method.name && row.first === pair[0] && row.second === pair[1] && (task === null || row.task === task));
}

// The 2 × 2 table of right and wrong answers of two sides; each cell is a button that shows its samples.
function fourfold(page, table) {
  const rows = chosenRows(page, table).filter((row) => row.fourfold);
  if (!rows.length) return null;
  const sum = (name) => rows.reduce((total, row) => total + row.fourfold[name], 0);
  const [a, b] = table.chosen.pair;
  const cell = (name, show, title) => el("td", {}, el("button", { type: "button", class: `cell ${show}`, title, onclick: () => setState({ show }) }, count(sum(name))));
  const head = (side, word) => [badge(page, side), ` ${word}`];
  return el("div", { class: "fourfold" },
    el("table", {}, el("caption", {}, "Samples by correctness"),
      el("thead", {}, el("tr", {}, el("td", {}), el("th", { scope: "col" }, head(b, "right")), el("th", { scope: "col" }, head(b, "wrong")))),
      el("tbody", {},
        el("tr", {}, el("th", { scope: "row" }, head(a, "right")), cell("both", "both", "both right"), cell("only_a", "first", "only the first right")),
        el("tr", {}, el("th", { scope: "row" }, head(a, "wrong")), cell("only_b", "second", "only the second right"), cell("neither", "same,different", "both wrong")))),
    rows.length === 1 ? el("p", { class: "faint" }, `${rows[0].test === "mcnemar" ? "McNemar's exact test" : "Student's t-test over clusters"}${page.sides.length > 2 ? ", corrected for all pairs" : ""}: p ${rows[0].p}`) : null);
}

// A matrix of differences between all sides by one method: the row's value minus the column's.
function matrix(page, table) {
  if (page.sides.length < 3) return null;
  const { method, task } = table.chosen;
  const rows = page.rows.filter((row) => row.method === method.name && (row.is_mean || row.task === task || (task === null && !page.rows.some((one) => one.is_mean))));
  const labels = [...new Set(rows.map((row) => row.label))].slice(0, MANY);
  return labels.map((label) => {
    const at = (i, j) => rows.find((row) => row.label === label && row.first === Math.min(i, j) && row.second === Math.max(i, j));
    const cell = (i, j) => {
      if (i === j) return el("td", { class: "faint" }, "·");
      const row = at(i, j);
      if (!row || row.at === null) return el("td", {}, "–");
      const isWon = row.better === i;
      return el("td", { class: row.is_real ? (isWon ? "won" : "lost") : "", title: row.sentence }, el("button", { type: "button", class: "pair-link", onclick: () => setState({ pair: `${Math.min(i, j)}-${Math.max(i, j)}` }) },
        i > j ? row.difference : turned(row), row.is_real ? " *" : ""));
    };
    return el("div", { class: "scroll-x" }, el("table", { class: "matrix" }, el("caption", {}, userText(label), ": row minus column, * where significant"),
      el("thead", {}, el("tr", {}, el("td", {}), page.sides.map((_, j) => el("th", { scope: "col" }, badge(page, j))))),
      el("tbody", {}, page.sides.map((side, i) => el("tr", {}, el("th", { scope: "row" }, badge(page, i), " ", userText(side.name)), page.sides.map((_, j) => cell(i, j)))))));
  });
}

function turned(row) {
  if (row.unit === "percent") {
    const change = 100 * (1 / (1 + row.at / 100) - 1);
    return `${change >= 0 ? "+" : ""}${fixed(change, 1)} %`;
  }
  if (row.at === 0) return row.difference;
  return row.difference.startsWith("-") ? `+${row.difference.slice(1)}` : `-${row.difference.replace(/^\+/, "")}`;
}

export async function showComparison(main) {
  const source = CompareFile.isHere() ? new CompareFile() : new CompareServer(location.search);
  const [page, columns] = await Promise.all([source.page(), source.table()]);
  const table = new CompareTable(columns, page);
  const together = el("section", { class: "together" });
  const sample = el("section", { id: "sample", hidden: true });
  const whole = el("div", { id: "whole" }, header(page), sentences(page),
    el("section", {}, el("h2", {}, "Differences"), forest(page)), together,
    page.notes.length ? el("section", {}, el("h2", {}, "Notes"), el("ul", { class: "notes" }, page.notes.map((note) => el("li", {}, userText(note))))) : null,
    el("section", { id: "samples" }, el("h2", {}, "Samples"), table.element));
  replace(main, whole, sample);

  let shown = null;
  async function follow(state) {
    table.follow(state);
    replace(together, fourfold(page, table), matrix(page, table));
    const place = state.sample === undefined ? null : table.placeOf(state);
    whole.hidden = place !== null;
    sample.hidden = place === null;
    if (place === null) table.draw();
    else if (place !== shown || sample.dataset.method !== table.chosen.method.name) {
      await showPair(sample, { place, source, page, table });
      sample.dataset.method = table.chosen.method.name;
      scrollTo(0, 0);
    }
    shown = place;
  }
  onState(follow);
  await follow(stateNow());
}
