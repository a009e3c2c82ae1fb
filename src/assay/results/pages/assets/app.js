// Shows the page that its body names.

import { showApi } from "./api_page.js";
import { el, replace } from "./dom.js";
import { showEvaluation } from "./evaluation_page.js";
import { showEvaluations } from "./evaluations_page.js";
import { showNewEvaluation } from "./new_evaluation_page.js";
import { showRun } from "./run_page.js";
import { showRuns } from "./runs_page.js";
import { showSignIn } from "./sign_in.js";

const PAGES = { run: showRun, runs: showRuns, evaluations: showEvaluations, evaluation: showEvaluation, new_evaluation: showNewEvaluation, api: showApi };

async function show() {
  const main = document.getElementById("page");
  try {
    await PAGES[document.body.dataset.page](main);
  } catch (error) {
    if (error.status === 401) {
      showSignIn(main);
      return;
    }
    replace(main, el("p", { class: "trouble", role: "alert" }, `This page cannot be shown: ${error.message}`));
    throw error;
  }
}

show();
