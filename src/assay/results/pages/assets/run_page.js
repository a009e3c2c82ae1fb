// The page of a run: scores, breakdown, samples, plots and setup.

import { el, replace } from "./dom.js";
import { onState, stateNow } from "./address.js";
import { Annotations, annotationView } from "./annotation_view.js";
import { FailureClusters } from "./failure_clusters.js";
import { FileSource, ServerSource } from "./source.js";
import { parts, plots, scores, setup } from "./overview.js";
import { SampleTable } from "./sample_table.js";
import { showSample } from "./sample_page.js";

// Replaces the content of a section and keeps opened parts open.
function refill(section, content) {
  const title = (details) => details.querySelector("summary").firstChild.textContent;
  const opened = new Set([...section.querySelectorAll("details[open]")].map(title));
  replace(section, content);
  for (const details of section.querySelectorAll("details")) if (opened.has(title(details))) details.open = true;
}

export async function showRun(main) {
  const source = FileSource.isHere() ? new FileSource() : new ServerSource(decodeURIComponent(location.pathname.split("/")[2]));
  let [run, columns] = await Promise.all([source.run(), source.table()]);
  const annotations = source.isLive ? await Annotations.of(source.name) : null;
  const table = new SampleTable(columns, run, annotations);
  const clusters = new FailureClusters(table);
  const sections = [[scores, el("section", { id: "scores" })], [parts, el("section", { id: "parts" })], [plots, el("section", { id: "plots" })], [setup, el("section", { id: "setup" })]];
  const fill = () => sections.forEach(([content, section]) => refill(section, content(run)));
  fill();
  const [[, head], ...below] = sections;
  const whole = el("div", { id: "whole" }, head, annotations ? annotationView(annotations) : null, below[0][1], el("section", { id: "samples" }, el("h2", {}, "Samples"), clusters.element, table.element), below.slice(1).map(([, section]) => section));
  const sample = el("section", { id: "sample", hidden: true });
  replace(main, whole, sample);

  let shown = null;
  let left = 0;
  async function follow(state) {
    table.follow(state);
    clusters.draw();
    const place = state.sample === undefined ? null : table.placeOf(state);
    if (place === shown) return;
    if (shown === null) left = scrollY;
    shown = place;
    whole.hidden = place !== null;
    sample.hidden = place === null;
    if (place === null) {
      table.draw(true);
      scrollTo(0, left);
    } else {
      await showSample(sample, { place, source, run, table, annotations });
      scrollTo(0, 0);
    }
  }
  onState(follow);
  await follow(stateNow());

  if (source.isLive) {
    source.watch(async () => {
      run = await source.run();
      const more = await source.table(table.columns);
      fill();
      table.grow(more, run);
      clusters.draw();
    });
  }
}
