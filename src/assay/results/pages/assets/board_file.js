// A page of one file, which has no use for the others.

import { showBoard } from "./board_page.js";
import { start } from "./start.js";

start({ leaderboard: showBoard });
