// Shows the page that its body names.

import { el, replace } from "./dom.js";
import { showApi } from "./api_page.js";
import { showBoard } from "./board_page.js";
import { showComparison } from "./compare_page.js";
import { showDataset, showDatasets } from "./datasets_page.js";
import { showEvaluation } from "./evaluation_page.js";
import { showEvaluations } from "./evaluations_page.js";
import { showModels } from "./models_page.js";
import { showNewEvaluation } from "./new_evaluation_page.js";
import { showRun } from "./run_page.js";
import { showRuns } from "./runs_page.js";
import { showSignIn } from "./sign_in.js";
import { showVisitor } from "./visitor_view.js";

const PAGES = {
  api: showApi,
  compare: showComparison,
  dataset: showDataset,
  datasets: showDatasets,
  evaluation: showEvaluation,
  evaluations: showEvaluations,
  leaderboard: showBoard,
  models: showModels,
  new_evaluation: showNewEvaluation,
  run: showRun,
  runs: showRuns,
};

async function show() {
  const main = document.getElementById("page");
  try {
    const { page, team } = document.body.dataset;
    if (team) await showVisitor(document.querySelector("nav.site"), main);
    await PAGES[page](main);
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
