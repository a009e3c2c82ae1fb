// Entry point of the leaderboard as a single HTML file.

import { showBoard } from "./board_page.js";
import { start } from "./start.js";

start({ leaderboard: showBoard });
