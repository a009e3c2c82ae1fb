// Tags and notes of a run or a sample: shown to everybody, edited in place on a server.

import { el, replace, userText } from "./dom.js";
import { answered, fetched } from "./source.js";

const addressOf = (name) => `/data/runs/${encodeURIComponent(name)}/annotations`;

// The annotations of one run, by task and sample.
export class Annotations {
  constructor(run, list) {
    this.run = run;
    this.list = list;
  }

  static async of(run) {
    return new Annotations(run, await fetched(addressOf(run)));
  }

  // Returns the annotation of a sample; without a task and a sample, that of the run; null without one.
  find(task = "", sample = "") {
    return this.list.find((one) => one.task === task && one.sample === sample) ?? null;
  }

  async put(task, sample, tags, note) {
    const body = JSON.stringify({ task, sample, tags, note });
    const stored = await answered(await fetch(addressOf(this.run), { method: "PUT", headers: { accept: "application/json", "content-type": "application/json" }, body }));
    this.list = this.list.filter((one) => one.task !== task || one.sample !== sample);
    if (stored.tags.length || stored.note) this.list.push(stored);
  }
}

export function tagChips(tags) {
  return tags.map((tag) => el("span", { class: "user-tag" }, userText(tag)));
}

// Shows the tags and the note of a run or a sample with a button to edit them; `onchange` is called after a change.
export function annotationView(annotations, { task = "", sample = "", onchange = () => {} } = {}) {
  const box = el("div", { class: "annotation" });
  const show = () => {
    const here = annotations.find(task, sample);
    replace(box, here ? tagChips(here.tags) : null, here?.note ? userText(here.note, { class: "user-note" }) : null,
      el("button", { type: "button", class: "link", onclick: edit }, here ? "Edit tags and note" : "Add tags or a note"));
  };
  const edit = () => {
    const here = annotations.find(task, sample);
    const tags = el("input", { type: "text", value: (here?.tags ?? []).join(", "), placeholder: "baseline, label error" });
    const note = el("textarea", { rows: 3 }, here?.note ?? "");
    const trouble = el("p", { class: "trouble", role: "alert" });
    const save = async () => {
      try {
        await annotations.put(task, sample, tags.value.split(",").map((tag) => tag.trim()).filter(Boolean), note.value);
      } catch (error) {
        replace(trouble, `Not saved: ${error.message}`);
        return;
      }
      show();
      onchange();
      box.querySelector("button").focus();
    };
    replace(box, el("form", { onsubmit: (event) => { event.preventDefault(); save(); }, onkeydown: (event) => { if (event.key === "Escape") { event.stopPropagation(); show(); } } },
      el("label", {}, "Tags, separated by commas", tags), el("label", {}, "Note", note), trouble,
      el("div", { class: "annotation-buttons" }, el("button", { type: "submit", class: "plain" }, "Save"), el("button", { type: "button", class: "plain", onclick: show }, "Cancel"))));
    tags.focus();
  };
  show();
  return box;
}
