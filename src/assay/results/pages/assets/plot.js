// Plots with a constant text size at any width, and tooltips on hover, on touch and with the arrow keys.
//
// A plot is one SVG of the available width. Lines are in an inner SVG that stretches with it; texts and dots are
// placed by percent. Colours are classes `series-…` of base.css.

import { el, replace, svg } from "./dom.js";

// Steps of the inner picture's grid: finer than any screen, in few characters.
const [WIDTH, HEIGHT] = [4000, 1000];
// How much of the width a mark's label may need: some 70 of a telephone's 300 pixels.
const LABEL_SHARE = 0.24;

// Plots under one title.
export function figure(title, about, parts, attributes = {}) {
  return el("figure", attributes, el("figcaption", {}, title, about ? el("small", {}, about) : null), parts);
}

// A legend of colours: pairs of class and words.
export function legend(entries) {
  return el("p", { class: "keys" }, entries.map(([series, words]) => el("span", {}, el("i", { class: series }), words)));
}

// Builds one plot; what is added last is on top.
export class Plot {
  // `label` describes the plot for screen readers.
  constructor(x, y, { height, label }) {
    Object.assign(this, { x, y, height, label, under: [], stretched: [], over: [], marks: [], stops: [] });
  }

  // A line from point to point.
  line(xs, ys, series) {
    this.path(xs.map((x, nth) => `${nth ? "L" : "M"}${this.across(x)} ${this.up(ys[nth])}`).join(""), `line ${series}`);
  }

  // A level from each edge to the next, with the area below it; one more edge than levels.
  steps(edges, ys, series, { isFilled = true } = {}) {
    if (!ys.length) return;
    const first = this.across(edges[0]);
    const outline = `M${first} ${this.up(ys[0])}${ys.map((y, nth) => `${nth ? `V${this.up(y)}` : ""}H${this.across(edges[nth + 1])}`).join("")}`;
    if (isFilled) this.path(`${outline}V${HEIGHT}H${first}Z`, `area ${series}`);
    this.path(outline, `line ${series}`);
  }

  // A bar between each two edges; a bar with a value is visible, however low.
  bars(edges, ys, series) {
    const bar = (y, nth) => (y > 0 ? `M${this.across(edges[nth])} ${HEIGHT}V${Math.min(this.up(y), HEIGHT - 8)}H${this.across(edges[nth + 1])}V${HEIGHT}` : "");
    this.path(ys.map(bar).join(""), `bar ${series}`);
  }

  // A stroke from x to x at each y: [x, x, y].
  spans(spans, series, thickness) {
    this.path(spans.map(([from, to, y]) => `M${this.across(from)} ${this.up(y)}H${this.across(to)}`).join(""), `line ${series}`, { style: { "stroke-width": `${thickness}px` } });
  }

  // A vertical stroke from y to y at each x: [x, y, y].
  whiskers(spans, series) {
    this.path(spans.map(([x, from, to]) => `M${this.across(x)} ${this.up(from)}V${this.up(to)}`).join(""), `line ${series}`);
  }

  // Shades an interval of the x axis, behind everything else.
  band(start, end, label) {
    const [left, right] = [this.x.at(start), this.x.at(end)];
    this.under.push(svg("rect", { x: share(left), y: 0, width: share(right - left), height: "100%", class: "band" }));
    this.over.push(text(left, 1, label, "band-name", { dx: 6, dy: 14 }));
  }

  // A line across at one height, with its name above its left end.
  level(y, label, series) {
    const at = share(1 - this.y.at(y));
    this.over.push(svg("line", { x1: 0, x2: "100%", y1: at, y2: at, class: `level ${series}` }), text(0, this.y.at(y), label, "name", { dx: 6, dy: -6 }));
  }

  // A line upwards at one place, with its name above the plot.
  mark(x, label) {
    this.marks.push([this.x.at(x), label]);
  }

  dot(x, y, series, radius = 4) {
    this.over.push(svg("circle", { cx: share(this.x.at(x)), cy: share(1 - this.y.at(y)), r: radius, class: `dot ${series}` }));
  }

  // A label above a point.
  name(x, y, label) {
    this.over.push(text(this.x.at(x), this.y.at(y), label, "name", { dy: -9 }));
  }

  // Returns the distance of two points as a fraction of the plot.
  distance([x, y], [otherX, otherY]) {
    return Math.hypot(this.x.at(x) - this.x.at(otherX), this.y.at(y) - this.y.at(otherY));
  }

  // A point with a tooltip; y null: at any height.
  stop(x, y, words) {
    this.stops.push({ x: this.x.at(x), y: y === null ? null : 1 - this.y.at(y), words });
  }

  // Returns the finished plot.
  element({ hasXTicks = true, xLabel = "", yLabel = "" } = {}) {
    const plot = svg("svg", { height: this.height, class: "plot", role: "img", "aria-label": this.label, tabindex: this.stops.length ? 0 : null },
      this.under, this.grid(hasXTicks),
      svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", width: "100%", height: "100%", class: "stretched" }, this.stretched),
      this.marks.map(([at]) => upright(at, 0)), this.over);
    if (this.stops.length) addTooltips(plot, this.stops);
    return el("div", { class: hasXTicks ? "plot-box has-x-ticks" : "plot-box" },
      yLabel ? el("div", { class: "y-label" }, yLabel) : null, this.marks.length ? this.markNames() : null, plot,
      xLabel ? el("div", { class: "x-label" }, xLabel) : null);
  }

  grid(hasXTicks) {
    const flat = (at, kind) => svg("line", { x1: 0, x2: "100%", y1: at, y2: at, class: kind });
    return [
      this.y.ticks.map(([value, label]) => {
        const at = share(1 - this.y.at(value));
        return [flat(at, "grid"), svg("text", { x: -8, y: at, dy: "0.32em", class: "tick last" }, label)];
      }),
      this.x.ticks.map(([value, label], nth) => {
        const at = this.x.at(value);
        const kind = `tick ${at > 0.96 ? "last" : "middle"}${nth % 2 && this.x.ticks.length > 4 ? " odd" : ""}`;
        return [upright(at, 0, "grid"), hasXTicks ? svg("text", { x: share(at), y: "100%", dy: 17, class: kind }, label) : null];
      }),
      flat("100%", "axis"),
    ];
  }

  // The names of the marks, in as few rows as they fit in.
  markNames() {
    const ends = [];
    const nodes = [...this.marks].sort(([a], [b]) => a - b).map(([at, label]) => {
      const left = Math.min(at, 1 - LABEL_SHARE);
      const free = ends.findIndex((end) => end <= left);
      const row = free < 0 ? ends.length : free;
      ends[row] = left + LABEL_SHARE;
      const y = 12 + 15 * row;
      return [upright(at, y - 10), svg("text", { x: share(at), y, ...(at > 1 - LABEL_SHARE ? { dx: -4, class: "name last" } : { dx: 4, class: "name first" }) }, label)];
    });
    return svg("svg", { height: 4 + 15 * ends.length, class: "plot", "aria-hidden": "true" }, nodes);
  }

  path(outline, kind, attributes = {}) {
    if (outline) this.stretched.push(svg("path", { d: outline, class: kind, ...attributes }));
  }

  across(x) {
    return Math.round(this.x.at(x) * WIDTH);
  }

  up(y) {
    return Math.round((1 - this.y.at(y)) * HEIGHT);
  }
}

function share(part) {
  return `${Number((100 * part).toFixed(2))}%`;
}

function upright(at, from, kind = "mark-line") {
  return svg("line", { x1: share(at), x2: share(at), y1: from, y2: "100%", class: kind });
}

function text(x, y, label, kind, { dx = null, dy }) {
  const side = x > 0.85 ? "last" : x < 0.08 || dx ? "first" : "middle";
  return svg("text", { x: share(x), y: share(1 - y), dx, dy, class: `${kind} ${side}` }, label);
}

const tip = el("div", { class: "tip", role: "status", hidden: true });
let cross = null;

function hideTip() {
  tip.hidden = true;
  cross?.remove();
}

function showTip(plot, stop) {
  hideTip();
  if (!tip.isConnected) document.body.append(tip);
  const box = plot.getBoundingClientRect();
  cross = upright(stop.x, 0, "cross");
  plot.append(cross);
  replace(tip, stop.words);
  tip.hidden = false;
  const [left, top] = [box.left + box.width * stop.x, box.top + box.height * (stop.y ?? 0)];
  const size = tip.getBoundingClientRect();
  const wide = document.documentElement.clientWidth;
  const beside = left + 14 + size.width > wide ? left - 14 - size.width : left + 14;
  tip.style.left = `${Math.max(4, Math.min(beside, wide - size.width - 4))}px`;
  tip.style.top = `${Math.max(4, top - size.height - 8)}px`;
}

function nearest(plot, stops, event) {
  const box = plot.getBoundingClientRect();
  const distance = (stop) => Math.hypot(box.width * stop.x - (event.clientX - box.left), stop.y === null ? 0 : box.height * stop.y - (event.clientY - box.top));
  return stops.reduce((best, stop, nth) => (distance(stop) < distance(stops[best]) ? nth : best), 0);
}

function addTooltips(plot, stops) {
  let here = 0;
  const show = (nth) => {
    here = Math.max(0, Math.min(stops.length - 1, nth));
    showTip(plot, stops[here]);
  };
  for (const name of ["pointermove", "pointerdown"]) plot.addEventListener(name, (event) => show(nearest(plot, stops, event)));
  for (const name of ["pointerleave", "blur"]) plot.addEventListener(name, hideTip);
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") hideTip();
    if (!step) return;
    event.preventDefault();
    show(here + step);
  });
}

addEventListener("scroll", hideTip, { passive: true });
