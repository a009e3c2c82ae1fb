// All pages of a server.

import { showAllSamples } from "./all_samples_page.js";
import { showApi } from "./api_page.js";
import { showBoard } from "./board_page.js";
import { showBench } from "./bench_page.js";
import { showComparison } from "./compare_page.js";
import { showDataset, showDatasets } from "./datasets_page.js";
import { showEvaluation } from "./evaluation_page.js";
import { showEvaluations } from "./evaluations_page.js";
import { showModels } from "./models_page.js";
import { showNewEvaluation } from "./new_evaluation_page.js";
import { showRun } from "./run_page.js";
import { showRuns } from "./runs_page.js";
import { showSignIn } from "./sign_in.js";
import { start } from "./start.js";
import { showVisitor } from "./visitor_view.js";

const PAGES = {
  api: showApi,
  bench: showBench,
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
  samples: showAllSamples,
};

start(PAGES, {
  before: async (main) => {
    if (document.body.dataset.team) await showVisitor(document.querySelector("nav.site"), main);
  },
  onUnauthorized: showSignIn,
});
