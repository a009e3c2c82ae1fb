// Shows the page named by the body element.

import { el, replace } from "./dom.js";
import { keysButton } from "./keys.js";
import { themeSelect } from "./theme.js";

// Adds the theme and the list of keys to the navigation; a page without one gets a bar.
function showPageTools(main) {
  let bar = document.querySelector("nav.site");
  if (!bar) {
    bar = el("header", { class: "site" });
    main.before(bar);
  }
  bar.append(el("span", { class: "page-tools" }, keysButton(document.body.dataset.page), themeSelect()));
}

// `before` runs first; `onUnauthorized` shows the sign-in form if the server requires a token.
export async function start(pages, { before = null, onUnauthorized = null } = {}) {
  const main = document.getElementById("page");
  showPageTools(main);
  try {
    if (before) await before(main);
    await pages[document.body.dataset.page](main);
  } catch (error) {
    if (onUnauthorized && error.status === 401) {
      onUnauthorized(main);
      return;
    }
    replace(main, el("h1", {}, "This page cannot be shown"), el("p", { class: "trouble", role: "alert" }, error.message));
    throw error;
  }
}
