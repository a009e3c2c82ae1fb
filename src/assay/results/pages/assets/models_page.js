// The list of registered models; the owner can register and delete them.

import { el, replace, userText } from "./dom.js";
import { confirmed } from "./confirming.js";
import { count, day } from "./numbers.js";
import { problemBox, showError } from "./problem_view.js";
import { fieldsOf, showFieldError, valuesOf } from "./schema_fields.js";
import { may, read, schemaOf, send, visitor } from "./team_api.js";

export async function showModels(main) {
  const who = await visitor();
  const isOwner = may(who, "owner");
  const statusLine = el("p", { class: "status-line", role: "status" });
  const list = el("ul", { class: "cards" });
  const trouble = problemBox();
  async function look() {
    const models = await read("/models");
    replace(statusLine, models.length ? `${count(models.length)} models` : isOwner ? "No models are registered yet. Register the first one below." : "No models are registered. Ask the owner to register one.");
    replace(list, models.map(card));
  }

  async function remove(one) {
    if (!await confirmed(`Delete the model ${one.name}?`, "Its evaluations are kept, and queued ones still run.", "Delete")) return;
    try {
      await send("DELETE", `/models/${encodeURIComponent(one.name)}`);
      showError(trouble, null);
      await look();
    } catch (error) {
      showError(trouble, error);
    }
  }

  function card(one) {
    const placed = { workers: one.workers, on: one.on };
    const args = Object.entries({ ...one.args, ...placed }).filter(([, value]) => value !== null);
    return el("li", { class: "card" },
      el("h2", {}, userText(one.name)),
      one.description ? el("p", {}, userText(one.description)) : null,
      el("p", {}, el("code", {}, userText(one.spec))),
      args.length ? el("p", { class: "faint" }, args.map(([name, value], nth) => [nth ? ", " : "", userText(`${name}=${value}`)])) : null,
      el("p", { class: "faint" }, "registered by ", userText(one.registered_by), `, ${day(one.registered_at)}`),
      el("div", { class: "ways" },
        may(who, "runner") ? el("a", { href: `/evaluations/new?${new URLSearchParams({ model: one.name })}` }, "Evaluate") : null,
        el("a", { href: `/evaluations#${new URLSearchParams({ model: one.name })}` }, "Evaluations"),
        isOwner ? el("button", { type: "button", class: "plain", "aria-label": `Delete ${one.name}`, onclick: () => remove(one) }, "Delete") : null));
  }

  replace(main, el("h1", {}, "Models"), statusLine, trouble, list, isOwner ? [el("h2", {}, "Register a model"), await registration(look)] : null);
  await look();
}

async function registration(done) {
  const fields = fieldsOf(await schemaOf("NewModel"));
  const trouble = problemBox();
  const statusLine = el("p", { class: "status-line", role: "status" });
  const button = el("button", { type: "submit", class: "button" }, "Register");
  async function submit(event) {
    event.preventDefault();
    showError(trouble, null);
    const values = valuesOf(fields);
    if (values === null) return;
    button.disabled = true;
    replace(statusLine, "Opening the model…");
    try {
      const model = await send("POST", "/models", values);
      replace(statusLine, "Registered ", userText(model.name), ".");
      for (const one of fields) one.input.value = "";
      await done();
    } catch (error) {
      replace(statusLine);
      if (!error.problem || !showFieldError(fields, error.problem)) showError(trouble, error);
    } finally {
      button.disabled = false;
    }
  }
  return el("form", { class: "register", novalidate: true, onsubmit: submit }, el("div", { class: "form-fields" }, fields.map((one) => one.element)), el("div", { class: "buttons" }, button), statusLine, trouble);
}
