// Asks for confirmation before an action that cannot be undone.

import { el } from "./dom.js";

// Shows a question; the promise resolves to whether the person confirmed. Escape cancels.
export function confirmed(question, consequence, yes) {
  return new Promise((resolve) => {
    const no = el("button", { type: "button", class: "plain", autofocus: true, onclick: () => dialog.close("no") }, "Cancel");
    const dialog = el("dialog", { class: "confirm", "aria-label": question, onclose: () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    } },
      el("h2", {}, question), el("p", {}, consequence),
      el("div", { class: "buttons" }, no, el("button", { type: "button", class: "plain danger", onclick: () => dialog.close("yes") }, yes)));
    document.body.append(dialog);
    dialog.showModal();
  });
}
