// Entry point of a run's report as a single HTML file.

import { showRun } from "./run_page.js";
import { start } from "./start.js";

start({ run: showRun });
