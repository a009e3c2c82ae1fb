// One sample in full: what was asked, what came back, what it was worth and why.

import { el, replace, said } from "./dom.js";
import { setState } from "./address.js";

export async function showSample(section, { place, source, table }) {
  const detail = await source.detail(place);
  const back = el("button", { type: "button", onclick: () => setState({ sample: null }, { isStep: true }) }, "All samples");
  if (detail === null) {
    replace(section, back, el("p", { class: "empty" }, "This file had no room for this sample; assay view shows it."));
    return;
  }
  replace(section, back, el("h2", {}, said(table.columns.ids[place])), el("pre", {}, said(JSON.stringify(detail, null, 1))));
}
