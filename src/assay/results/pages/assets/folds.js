// Collapsible parts of a page.

import { el, append } from "./dom.js";

// `make` returns the content; it is called when the part is first opened.
export function fold(summary, make, { isOpen = false, ...attributes } = {}) {
  let isMade = false;
  const fill = () => {
    if (!isMade) append(folded, [make()]);
    isMade = true;
  };
  const folded = el("details", { class: "folded", ...attributes, ontoggle: () => folded.open && fill() }, el("summary", {}, summary));
  if (isOpen) {
    fill();
    folded.open = true;
  }
  return folded;
}
