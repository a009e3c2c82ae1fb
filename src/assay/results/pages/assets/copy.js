// Buttons that copy a text exactly as stored, even where the page shows placeholders for invisible characters.

import { el, replace } from "./dom.js";

const SHOWN_MS = 1500;

// The copy event also works on pages opened from disk or over plain HTTP; the newer clipboard API needs a secure origin.
function copied(text) {
  const put = (event) => {
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
  };
  document.addEventListener("copy", put);
  try {
    return document.execCommand("copy");
  } finally {
    document.removeEventListener("copy", put);
  }
}

// The label is "Copy" plus `what`; `text` may be a function, for a text that is expensive to build.
export function copyButton(text, what = "") {
  const words = what ? `Copy ${what}` : "Copy";
  const button = el("button", { type: "button", class: "copy", onclick: () => {
    replace(button, copied(typeof text === "function" ? text() : text) ? "Copied" : "Copying is not allowed");
    setTimeout(() => replace(button, words), SHOWN_MS);
  } }, words);
  return button;
}
