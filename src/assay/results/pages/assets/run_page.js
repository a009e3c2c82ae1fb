// A run: its scores with their company, its plots, its samples, and how it was set up.

import { el, replace, said } from "./dom.js";
import { onState, stateNow } from "./address.js";
import { FileSource, ServerSource } from "./source.js";
import { overview } from "./overview.js";
import { SampleTable } from "./sample_table.js";
import { showSample } from "./sample_page.js";

export async function showRun(main) {
  const source = FileSource.isHere() ? new FileSource() : new ServerSource(decodeURIComponent(location.pathname.split("/")[2]));
  let [run, columns] = await Promise.all([source.run(), source.table()]);
  const title = el("p", { class: "title" }, said(run.manifest.model.name));
  const head = el("section", { id: "overview" }, overview(run));
  const table = new SampleTable(columns, run);
  const sample = el("section", { id: "sample", hidden: true });
  const whole = el("div", { id: "whole" }, head, el("section", { id: "samples" }, el("h2", {}, "Samples"), table.element));
  replace(main, whole, sample);

  let shown = null;
  async function follow(state) {
    table.follow(state);
    const place = state.sample === undefined ? null : table.placeOf(state);
    if (place === shown) return;
    shown = place;
    whole.hidden = place !== null;
    sample.hidden = place === null;
    if (place !== null) {
      await showSample(sample, { place, source, run, table });
      scrollTo(0, 0);
    } else table.draw();
  }
  onState(follow);
  await follow(stateNow());

  if (source.isLive) {
    source.watch(async () => {
      const now = await source.run();
      const isOther = now.revision !== run.revision;
      const more = await source.table(isOther ? 0 : table.n);
      run = now;
      replace(head, overview(run));
      table.grow(more, run, isOther);
    });
  }
  title.remove();
}
