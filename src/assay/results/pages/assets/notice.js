// Says on the page, for as long as it is so, why what is shown may not be what is.

import { el } from "./dom.js";

export const GONE = "This is not there any more. What is shown was the last of it.";
export const LOST = "The server does not answer. What is shown may be out of date.";

let notice = null;

// null: all is well.
export function showNotice(words) {
  notice?.remove();
  notice = words === null ? null : el("p", { class: "lost", role: "status" }, words);
  if (notice) document.body.append(notice);
}
