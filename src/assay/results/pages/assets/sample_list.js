// A long list of samples: search, filters and a table that only renders the visible rows. Subclasses define the cells
// and the filters.

import { el, replace } from "./dom.js";
import { linkTo, setState } from "./address.js";
import { parseFilter } from "./filter_expression.js";
import { count } from "./numbers.js";

// In pixels, as in table.css.
const ROW = 40;
const BEYOND = 8;

export class SampleList {
  // `columns` has ids, questions, targets, and for each sample the place of its task in `tasks`.
  constructor(placeholder, attributes) {
    this.state = {};
    this.rows = [];
    this.search = el("input", { type: "search", placeholder, "aria-label": "Search samples", oninput: () => setState({ q: this.search.value }) });
    this.chips = el("div", { class: "chips", role: "group", "aria-label": "Filters" });
    this.selects = el("div", { class: "selects" });
    this.head = el("div", { class: "row head", role: "row" });
    this.body = el("div", { class: "body" });
    this.filterNote = el("p", { class: "filter-note", role: "status", hidden: true });
    this.statusLine = el("p", { class: "status-line", role: "status" });
    this.scroller = el("div", { class: "scroller", role: "table", tabindex: 0, "aria-label": "Samples", onscroll: () => this.draw(), onkeydown: (event) => this.key(event) }, this.head, this.body);
    this.element = el("div", attributes, el("div", { class: "tools" }, this.search, this.selects), this.filterNote, this.chips, this.statusLine, this.scroller);
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  take(columns) {
    this.columns = columns;
    this.places = null;
    this.texts = null;
  }

  // Returns the place of the sample in the address; null without one.
  placeOf(state) {
    const { tasks, task, ids } = this.columns;
    this.places ??= new Map(ids.map((id, place) => [`${tasks[task[place]]}\n${id}`, place]));
    return this.places.get(`${state.in ?? tasks[0]}\n${state.sample}`) ?? null;
  }

  // Returns the address state of a sample.
  stateOf(place) {
    const { tasks, task, ids } = this.columns;
    return { sample: ids[place], in: tasks.length > 1 ? tasks[task[place]] : null };
  }

  // Returns the searchable text of a sample; subclasses define `answersOf(place)`.
  text(place) {
    const { ids, questions, targets } = this.columns;
    this.texts ??= ids.map((id, at) => [id, questions[at], targets[at], ...this.answersOf(at)].join("\n").toLowerCase());
    return this.texts[place];
  }

  // Reads the search as a filter expression over `filterColumns()` of the subclass; returns a function that tests a place.
  readFilter(state) {
    const { test, problem, hint } = parseFilter(state.q ?? "", this.filterColumns(), (place) => this.text(place));
    const note = problem ? `The search is not applied: ${problem}` : hint;
    this.filterNote.hidden = note === null;
    this.filterNote.classList.toggle("trouble", problem !== null);
    replace(this.filterNote, note);
    return test;
  }

  // Returns places in the order of `state.sort`, such as `tokens down`; `keys` has a list of values for each column.
  // Unknown values come last in both directions.
  sortPlaces(places, keys) {
    const [name, way] = (this.state.sort ?? "").split(" ");
    const by = keys[name];
    if (!by) return places;
    const sign = way === "down" ? -1 : 1;
    return places.sort((a, b) => {
      const [one, other] = [by[a], by[b]];
      if (one === other) return a - b;
      if (one === null || one === "") return 1;
      if (other === null || other === "") return -1;
      return sign * (one < other ? -1 : 1);
    });
  }

  // Returns the headings of [name, label] as buttons that sort.
  sortHeadings(columns) {
    const [name, way] = (this.state.sort ?? "").split(" ");
    return columns.map(([key, label]) => el("span", { class: key, role: "columnheader", "aria-sort": name === key ? (way === "down" ? "descending" : "ascending") : "none" },
      el("button", { type: "button", onclick: () => setState({ sort: name !== key ? `${key} up` : way === "up" ? `${key} down` : null }) },
        label, name === key ? (way === "down" ? " ↓" : " ↑") : "")));
  }

  // Returns the names of the filters in the address.
  wanted(state) {
    return new Set((state.show ?? "").split(",").filter(Boolean));
  }

  // Draws the filters: name, label and number of samples; empty ones are omitted.
  drawFilters(filters, wanted) {
    if (document.activeElement !== this.search) this.search.value = this.state.q ?? "";
    const toggle = (name) => {
      const next = new Set(wanted);
      if (!next.delete(name)) next.add(name);
      setState({ show: [...next].join(",") });
    };
    replace(this.chips, filters.filter(([name, , n]) => n || wanted.has(name)).map(([name, label, n]) =>
      el("button", { type: "button", class: `chip ${name}`, "aria-pressed": String(wanted.has(name)), onclick: () => toggle(name) }, label, " ", el("span", {}, count(n)))));
  }

  // Returns a select whose value is kept in the address, from [value, label, isChosen]; null for fewer than two options.
  choice(name, label, options) {
    return options.length < 2 ? null : el("label", {}, `${label} `, el("select", { onchange: (event) => setState({ [name]: event.target.value }) },
      options.map(([value, shown, isChosen]) => el("option", { value, selected: isChosen }, shown))));
  }

  // Draws the visible rows with `headings()` and `cells(place)` of the subclass; `isNew`: also redraws unchanged rows.
  draw(isNew = false) {
    if (!this.columns) return;
    const height = this.scroller.clientHeight || 600;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - BEYOND);
    const last = Math.min(this.rows.length, Math.ceil((this.scroller.scrollTop + height) / ROW) + BEYOND);
    if (!isNew && this.drawn?.first === first && this.drawn?.last === last) return;
    this.drawn = { first, last };
    if (isNew) replace(this.head, this.headings());
    this.body.style.setProperty("height", `${this.rows.length * ROW}px`);
    const shown = [];
    for (let nth = first; nth < last; nth++) shown.push(this.row(nth, this.rows[nth]));
    const focused = this.body.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    const why = this.columns.ids.length ? "No samples match these filters." : "No samples yet. A sample appears here once all its requests are answered.";
    replace(this.body, shown, this.rows.length ? null : el("p", { class: "empty" }, why));
    if (focused) shown.map((row) => row.querySelector("a.cover")).find((link) => link.getAttribute("href") === focused)?.focus({ preventScroll: true });
  }

  row(nth, place) {
    const state = this.stateOf(place);
    return this.linkedRow(nth, place, { href: linkTo(state), onclick: (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      setState(state, { isStep: true });
    } });
  }

  // Returns a row with a link that covers it, in the question's cell: narrow screens hide the first one.
  linkedRow(nth, place, link) {
    const cells = [this.cells(place)].flat(Infinity);
    const cell = cells.find((one) => one.classList.contains("question")) ?? cells[0];
    cell.append(el("a", { class: "cover", ...link }, [...cell.childNodes]));
    return el("div", { class: `row sample-row ${this.kind(place)}`.trim(), role: "row", style: { top: `${nth * ROW}px` } }, cells);
  }

  // Returns the CSS class of a row.
  kind() {
    return "";
  }

  key(event) {
    const step = { PageDown: 10, PageUp: -10, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.target !== this.scroller) return;
    event.preventDefault();
    this.scroller.scrollTop += step * ROW;
  }
}
