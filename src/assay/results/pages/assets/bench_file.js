// Entry point of a benchmark's page, a single HTML file.

import { showBench } from "./bench_page.js";
import { start } from "./start.js";

start({ bench: showBench });
