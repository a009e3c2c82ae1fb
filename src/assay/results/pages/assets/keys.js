// Keys that work on every page, and the list of all keys.

import { el } from "./dom.js";

const SAMPLE_KEYS = [["j or →", "next sample"], ["k or ←", "previous sample"], ["Esc", "back to all samples"]];
const KEYS = { run: SAMPLE_KEYS, compare: SAMPLE_KEYS };

// Whether a key press belongs to a field that a person types in, or to a shortcut of the browser.
function isTaken(event) {
  return event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || Boolean(event.target.closest?.("input:not([type=checkbox]), select, textarea, dialog"));
}

// Returns the search field that is visible now.
function findSearch() {
  return [...document.querySelectorAll('input[type="search"]')].find((input) => input.checkVisibility()) ?? null;
}

// Makes `/` and `?` work on a page, and returns a button that shows its keys.
export function keysButton(page) {
  const keys = [["/", "search"], ...(KEYS[page] ?? []), ["?", "this list"]];
  const dialog = el("dialog", { class: "keys-dialog", "aria-label": "Keys" },
    el("h2", {}, "Keys"),
    el("dl", { class: "pairs" }, keys.map(([key, action]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, action)])),
    el("form", { method: "dialog" }, el("button", { class: "plain" }, "Close")));
  document.body.append(dialog);
  addEventListener("keydown", (event) => {
    if (isTaken(event)) return;
    if (event.key === "?") {
      event.preventDefault();
      dialog.showModal();
    } else if (event.key === "/") {
      const search = findSearch();
      if (!search) return;
      event.preventDefault();
      search.focus();
      search.select();
    }
  });
  return el("button", { type: "button", class: "link", onclick: () => dialog.showModal() }, "Keys");
}
