// Buttons that copy a text exactly as it is stored, whatever stands for its unseen characters on the page.

import { el, replace } from "./dom.js";

const SHOWN_MS = 1500;

// The event works on pages from a disk and from any address; the newer clipboard needs a secure one.
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

// `what` is what the button says beside "Copy"; `text` may be a function, for a text that is long to make.
export function copyButton(text, what = "") {
  const words = what ? `Copy ${what}` : "Copy";
  const button = el("button", { type: "button", class: "copy", onclick: () => {
    replace(button, copied(typeof text === "function" ? text() : text) ? "Copied" : "Not allowed here");
    setTimeout(() => replace(button, words), SHOWN_MS);
  } }, words);
  return button;
}
