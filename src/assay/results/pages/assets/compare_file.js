// A page of one file, which has no use for the others.

import { showComparison } from "./compare_page.js";
import { start } from "./start.js";

start({ compare: showComparison });
