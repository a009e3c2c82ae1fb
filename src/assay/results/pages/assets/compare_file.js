// Entry point of a comparison as a single HTML file.

import { showComparison } from "./compare_page.js";
import { start } from "./start.js";

start({ compare: showComparison });
