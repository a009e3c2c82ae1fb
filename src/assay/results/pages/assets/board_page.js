// The leaderboard page: a table of models by datasets or abilities, and charts of the selected models.

import { el, replace, userText } from "./dom.js";
import { onState, setState, stateNow } from "./address.js";
import { boardCharts, markOf } from "./board_charts.js";
import { columnsOf } from "./board_columns.js";
import { countOf, percent } from "./numbers.js";
import { fetched, FileSource } from "./source.js";

const MOST_CHOSEN = 6;
const FILES = { markdown: ["leaderboard.md", "Markdown"], csv: ["leaderboard.csv", "csv"], latex: ["leaderboard.tex", "LaTeX"] };

export async function showBoard(main) {
  const page = document.getElementById("board") ? await new FileSource().block("board") : await fetched("/data/leaderboard");
  const { board } = page;
  if (!board.models.length) {
    replace(main, el("h1", {}, "Leaderboard"), el("p", { class: "empty" }, "No complete runs yet."));
    return;
  }
  const table = el("div", { class: "board-scroll", tabindex: 0, role: "region", "aria-label": "Leaderboard" });
  const charts = el("section", { id: "charts" });
  const hasAbilities = board.means.some((mean) => mean.kind === "ability");
  const views = hasAbilities ? [["dataset", "Datasets"], ["ability", "Abilities"]] : [];
  const tabs = views.map(([name, title]) => el("button", { type: "button", class: "chip", "data-by": name, onclick: () => setState({ by: name === "dataset" ? null : name, sort: null, up: null }) }, title));

  function draw() {
    const state = stateNow();
    const by = hasAbilities && state.by === "ability" ? "ability" : "dataset";
    for (const tab of tabs) tab.setAttribute("aria-pressed", String(tab.dataset.by === by));
    const columns = columnsOf(page, by);
    const chosen = chosenModels(board, state);
    const { scrollLeft, scrollTop } = table;
    const focused = document.activeElement?.dataset.hold;
    replace(table, boardTable(board, columns, chosen, state));
    Object.assign(table, { scrollLeft, scrollTop });
    // Keep the keyboard focus.
    if (focused) table.querySelector(`[data-hold="${focused}"]`)?.focus();
    replace(charts, boardCharts(page, columns, chosen));
  }

  replace(main,
    el("header", {}, el("h1", {}, "Leaderboard"), el("p", { class: "faint" }, describeSize(board))),
    el("div", { class: "tools board-tools" }, tabs.length ? el("div", { class: "chips" }, tabs) : null,
      el("div", { class: "chips" }, Object.entries(page.files).map(([form, text]) => exportButton(form, text)))),
    table,
    el("p", { class: "faint legend" }, "The bar below each value is its 95 % interval. # is the range of possible ranks: only models that are significantly better rank above it for certain. ",
      `Significance comes from a paired test over samples, with Holm's correction over the column at ${percent(board.level, 0)}. Hover over a value to see which models differ significantly. Bold: no model is significantly better.`),
    charts,
    board.notes.length ? [el("h2", {}, "Notes"), el("ul", { class: "notes" }, board.notes.map((note) => el("li", {}, userText(note))))] : null);
  onState(draw);
  draw();
}

function describeSize(board) {
  const datasets = new Set(board.columns.filter((column) => column.part === null).map((column) => column.dataset));
  return `${countOf(board.models.length, "model")}, ${countOf(datasets.size, "dataset")}`;
}

function exportButton(form, text) {
  const [name, title] = FILES[form];
  const save = () => {
    const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    el("a", { href: address, download: name }).click();
    URL.revokeObjectURL(address);
  };
  return el("button", { type: "button", class: "chip", onclick: save, title: `Save as ${name}` }, "↓ ", title);
}

// Returns the rows of the models selected for the charts; the best three by default.
function chosenModels(board, state) {
  const asked = state.models === undefined ? null : state.models.split(" ");
  const rows = board.models.map((model, row) => [model.digest.slice(0, 8), row]);
  if (asked === null) return rows.slice(0, 3).map(([, row]) => row);
  return rows.filter(([name]) => asked.includes(name)).map(([, row]) => row);
}

function choose(board, chosen, row, isOn) {
  const rows = isOn ? [...chosen, row] : chosen.filter((one) => one !== row);
  const names = rows.map((one) => board.models[one].digest.slice(0, 8));
  // An empty selection is a selection too; "none" is not the digest of any model.
  setState({ models: names.join(" ") || "none" });
}

function ordered(board, columns, state) {
  const rows = board.models.map((_, row) => row);
  const column = columns.find((one) => one.key === state.sort);
  if (!column) return rows;
  const isUp = (state.up === "1") !== !column.higherIsBetter;
  const value = (row) => column.cells[row]?.value ?? null;
  return rows.sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return (x === null) - (y === null) || a - b;
    return (isUp ? x - y : y - x) || a - b;
  });
}

function boardTable(board, columns, chosen, state) {
  const cells = columns.map(() => new Map());
  const head = el("tr", {}, el("th", { scope: "col", class: "model" }, "model"), columns.map((column) => heading(column, state)));
  const body = ordered(board, columns, state).map((row) => {
    const model = board.models[row];
    const isChosen = chosen.includes(row);
    const box = el("input", { type: "checkbox", "data-hold": `row-${row}`, "aria-label": `Show ${model.name} in the charts`, onchange: (event) => choose(board, chosen, row, event.target.checked) });
    box.checked = isChosen;
    box.disabled = !isChosen && chosen.length >= MOST_CHOSEN;
    const facts = Object.entries(model.facts).map(([name, text]) => `${name} ${text}`).concat(model.usd === null ? [] : [`cost of these runs ${model.usd.toPrecision(2)} USD`]).join("\n");
    return el("tr", {}, el("th", { scope: "row", class: "model", title: facts }, el("label", {}, box, markOf(chosen.indexOf(row)), userText(model.name))),
      columns.map((column, at) => {
        const cell = valueCell(column, row, (isOver) => compare(cells[at], column, row, isOver));
        cells[at].set(row, cell);
        return cell;
      }));
  });
  return el("table", { class: "board" }, el("thead", {}, head), el("tbody", {}, body));
}

function heading(column, state) {
  const isSorted = state.sort === column.key;
  const isUp = isSorted && (state.up === "1") !== !column.higherIsBetter;
  const turn = () => setState(isSorted && state.up === "1" ? { sort: null, up: null } : { sort: column.key, up: isSorted ? "1" : null });
  return el("th", { scope: "col", class: column.kind, "aria-sort": isSorted ? (isUp ? "ascending" : "descending") : "none", title: column.tooltip },
    el("button", { type: "button", "data-hold": column.key, onclick: turn }, el("span", { class: "name" }, userText(column.name)), el("span", { class: "about" }, userText(column.about), isSorted ? (isUp ? " ▲" : " ▼") : "")));
}

function valueCell(column, row, onpoint) {
  const cell = column.cells[row];
  if (!cell) return el("td", { class: "none" }, el("span", { title: "no complete run" }, "–"));
  const value = el("span", { class: cell.isLeading ? "value leading" : "value" }, cell.shown);
  const at = (number) => `${(100 * (number - column.low)) / (column.high - column.low || 1)}%`;
  const bar = cell.low === null || cell.high === null ? el("span", { class: "range" }) : el("span", { class: "range" },
    el("span", { class: "between", style: { left: at(cell.low), width: `calc(${at(cell.high)} - ${at(cell.low)})` } }),
    el("span", { class: "point", style: { left: at(cell.value) } }));
  return el("td", { class: column.kind, title: cell.tooltip, onmouseenter: () => onpoint(true), onmouseleave: () => onpoint(false) },
    el("span", { class: "line" }, cell.link ? el("a", { href: cell.link }, value) : value, el("span", { class: cell.isIncomplete ? "rank lacks" : "rank" }, cell.rank)), bar);
}

// While the pointer is over a value, marks the others of its column: significantly better, significantly worse, neither.
function compare(cells, column, row, isOver) {
  const own = column.cells[row];
  for (const [other, cell] of cells) {
    cell.classList.remove("better", "worse", "same");
    const theirs = column.cells[other];
    if (!isOver || other === row || !theirs || own.isIncomplete || theirs.isIncomplete) continue;
    cell.classList.add(own.beats.includes(other) ? "worse" : theirs.beats.includes(row) ? "better" : "same");
  }
}
