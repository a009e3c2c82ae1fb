// The list of registered datasets, and the page of one dataset with its columns and first rows.

import { el, replace, userText } from "./dom.js";
import { confirmed } from "./confirming.js";
import { datasetPreview } from "./dataset_preview.js";
import { fold } from "./folds.js";
import { count, day } from "./numbers.js";
import { problemBox, showError } from "./problem_view.js";
import { may, read, send, visitor } from "./team_api.js";
import { uploadForm } from "./upload_form.js";

function listed(names) {
  return names.map((name, nth) => [nth ? ", " : "", userText(name)]);
}

function evaluateLink(who, name) {
  return may(who, "runner") ? el("a", { href: `/evaluations/new?${new URLSearchParams({ dataset: name })}` }, "Evaluate") : null;
}

function card(who, one) {
  return el("li", { class: "card" },
    el("h2", {}, el("a", { href: `/datasets/${encodeURIComponent(one.name)}` }, userText(one.name))),
    one.explanation ? el("p", {}, userText(one.explanation)) : null,
    el("p", { class: "faint" }, one.abilities.length ? [listed(one.abilities), " · "] : null, one.headline ? ["headline metric ", el("b", {}, userText(one.headline)), " · "] : null, one.metrics.length ? [listed(one.metrics), " · "] : null, one.dialect, one.provenance === "upload" ? " · uploaded" : null),
    el("p", {}, evaluateLink(who, one.name)));
}

export async function showDatasets(main) {
  const [who, datasets] = await Promise.all([visitor(), read("/datasets")]);
  let all = datasets;
  const search = el("input", { type: "search", placeholder: "Search datasets and abilities", "aria-label": "Search datasets", oninput: () => draw() });
  const statusLine = el("p", { class: "status-line list-status", role: "status" });
  const list = el("ul", { class: "cards" });
  function draw() {
    const words = search.value.toLowerCase();
    const found = all.filter((one) => [one.name, one.explanation, ...one.abilities].join("\n").toLowerCase().includes(words));
    replace(statusLine, all.length ? `${count(found.length)} of ${count(all.length)} datasets` : "No datasets are registered. The owner can start the server with --datasets FOLDER, or upload a dataset.");
    replace(list, found.map((one) => card(who, one)));
  }
  draw();
  const upload = may(who, "owner") ? fold("Upload a dataset", () => {
    const place = el("div", {});
    uploadForm((dataset) => { all = [...all, dataset].sort((a, b) => (a.name < b.name ? -1 : 1)); draw(); }).then((form) => replace(place, form));
    return place;
  }, { class: "fold", id: "upload" }) : null;
  replace(main, el("h1", {}, "Datasets"), el("div", { class: "tools" }, search), statusLine, upload, list);
}

export async function showDataset(main) {
  const name = decodeURIComponent(location.pathname.split("/")[2]);
  const [who, datasets] = await Promise.all([visitor(), read("/datasets")]);
  const one = datasets.find((dataset) => dataset.name === name);
  if (!one) {
    replace(main, el("h1", {}, userText(name)), el("p", {}, "This dataset does not exist. ", el("a", { href: "/datasets" }, "Show all datasets"), "."));
    return;
  }
  document.title = `${name} · Assay`;
  const trouble = problemBox();
  const remove = async () => {
    if (!await confirmed(`Delete the dataset ${name}?`, "Runs on this dataset are kept.", "Delete")) return;
    try {
      await send("DELETE", `/datasets/${encodeURIComponent(name)}`);
      location.assign("/datasets");
    } catch (error) {
      showError(trouble, error);
    }
  };
  const settings = Object.entries(one.settings);
  const fact = (label, ...value) => el("tr", {}, el("th", { scope: "row" }, label), el("td", {}, value));
  replace(main,
    el("p", { class: "kicker" }, el("a", { href: "/datasets" }, "Datasets")),
    el("h1", {}, userText(name)),
    one.explanation ? el("p", { class: "explanation" }, userText(one.explanation)) : null,
    el("div", { class: "ways" }, evaluateLink(who, name), may(who, "owner") && one.provenance === "upload" ? el("button", { type: "button", class: "plain", onclick: remove }, "Delete") : null),
    trouble,
    el("table", { class: "facts" }, el("tbody", {},
      fact("abilities", one.abilities.length ? listed(one.abilities) : "none"),
      fact("headline metric", one.headline ? userText(one.headline) : "default of its method"),
      fact("metrics", one.metrics.length ? listed(one.metrics) : "defaults of its methods"),
      fact("format", one.dialect),
      fact("source", one.provenance === "upload" ? "upload" : "folder of the owner", `, ${day(one.added_at)}, by `, userText(one.added_by)),
      settings.length ? fact("settings", settings.map(([key, value], nth) => [nth ? ", " : "", userText(`${key} = ${JSON.stringify(value)}`)])) : null)),
    el("h2", {}, "First rows"), datasetPreview(name));
}
