// Shows the page that its body names.

import { showComparison } from "./compare_page.js";
import { el, replace } from "./dom.js";
import { showRun } from "./run_page.js";

const PAGES = { compare: showComparison, run: showRun };

async function show() {
  const main = document.getElementById("page");
  try {
    await PAGES[document.body.dataset.page](main);
  } catch (error) {
    replace(main, el("p", { class: "trouble", role: "alert" }, `This page cannot be shown: ${error.message}`));
    throw error;
  }
}

show();
