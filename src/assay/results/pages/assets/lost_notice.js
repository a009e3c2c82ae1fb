// Says on the page that the server does not answer, for as long as it does not.

import { el } from "./dom.js";

let notice = null;

export function showLost(isLost) {
  if (!isLost) {
    notice?.remove();
    notice = null;
  } else if (!notice) {
    notice = el("p", { class: "lost", role: "status" }, "The server does not answer. What is shown may be out of date.");
    document.body.append(notice);
  }
}
