// A page of one file, which has no use for the others.

import { showRun } from "./run_page.js";
import { start } from "./start.js";

start({ run: showRun });
