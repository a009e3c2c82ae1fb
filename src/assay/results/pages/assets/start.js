// Shows the page named by the body element.

import { el, replace } from "./dom.js";

// `before` runs first; `refused` shows the sign-in form if the server requires a token.
export async function start(pages, { before = null, refused = null } = {}) {
  const main = document.getElementById("page");
  try {
    if (before) await before(main);
    await pages[document.body.dataset.page](main);
  } catch (error) {
    if (refused && error.status === 401) {
      refused(main);
      return;
    }
    replace(main, el("p", { class: "trouble", role: "alert" }, `This page cannot be shown: ${error.message}`));
    throw error;
  }
}
