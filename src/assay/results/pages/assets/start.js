// Shows the page named by the body element.

import { el, replace } from "./dom.js";

// `before` runs first; `onUnauthorized` shows the sign-in form if the server requires a token.
export async function start(pages, { before = null, onUnauthorized = null } = {}) {
  const main = document.getElementById("page");
  try {
    if (before) await before(main);
    await pages[document.body.dataset.page](main);
  } catch (error) {
    if (onUnauthorized && error.status === 401) {
      onUnauthorized(main);
      return;
    }
    replace(main, el("p", { class: "trouble", role: "alert" }, `This page cannot be shown: ${error.message}`));
    throw error;
  }
}
