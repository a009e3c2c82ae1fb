// A notice that the page may be out of date, shown for as long as it is.

import { el } from "./dom.js";

export const GONE = "This no longer exists. The page shows its last state.";
export const LOST = "The server does not respond. This page may be out of date.";

let notice = null;

// Shows a notice; null removes it.
export function showNotice(words) {
  notice?.remove();
  notice = words === null ? null : el("p", { class: "lost", role: "status" }, words);
  if (notice) document.body.append(notice);
}
