// Collapsible parts of a page.

import { el, append } from "./dom.js";
import { count } from "./numbers.js";

// `content`: nodes, or a function that returns them and is called when the part is first opened.
export function fold(summary, content, { isOpen = false, ...attributes } = {}) {
  let isFilled = typeof content !== "function";
  const fill = () => {
    if (!isFilled) append(folded, [content()]);
    isFilled = true;
  };
  const folded = el("details", { class: "folded", ...attributes, ontoggle: () => folded.open && fill() }, el("summary", {}, summary), isFilled ? content : null);
  if (isOpen) {
    fill();
    folded.open = true;
  }
  return folded;
}

// A collapsible part with the number of its items in the summary; null: without a number.
export function countedFold(title, n, content) {
  return fold([title, n === null ? null : el("span", { class: "faint" }, ` ${count(n)}`)], content, { class: "fold" });
}
