// The columns of a leaderboard in one common shape: means, pairwise wins, datasets and abilities.

import { count, countOf, inPercent, percent, plain } from "./numbers.js";

function rankText(rank) {
  return rank.best === rank.worst ? `#${rank.best}` : `#${rank.best}–${rank.worst}`;
}

function shown(value, isShare) {
  return isShare ? inPercent(value) : plain(value);
}

function interval(cell, isShare) {
  return cell.low === null || cell.high === null ? "no interval" : `95 % interval ${shown(cell.low, isShare)}–${shown(cell.high, isShare)}`;
}

// The leaders of a column are bold only if another model is significantly worse.
function withLeaders(cells) {
  const ranked = cells.filter((cell) => cell && cell.best !== null);
  const isDivided = ranked.some((cell) => cell.best > 1);
  for (const cell of ranked) {
    cell.isLeading = isDivided && cell.best === 1;
    if (ranked.length === 1) cell.rank = "";
  }
  return cells;
}

function bounds(cells, isShare) {
  const known = cells.filter((cell) => cell);
  const lows = known.map((cell) => cell.low ?? cell.value);
  const highs = known.map((cell) => cell.high ?? cell.value);
  const [low, high] = [Math.min(...lows), Math.max(...highs)];
  const room = 0.05 * (high - low || 1);
  return isShare ? { low: Math.max(0, low - room), high: Math.min(1, high + room) } : { low: low - room, high: high + room };
}

function datasetColumn(board, links, column, at) {
  const cells = withLeaders(board.cells.map((cellsOfRow, row) => {
    const cell = cellsOfRow[at];
    if (!cell) return null;
    const counts = [["scored", cell.n_scored], ["unanswered", cell.n_unanswered], ["truncated", cell.n_truncated], ["failed", cell.n_failed]];
    const tooltip = [`${shown(cell.value, column.is_share)}${column.is_share ? " %" : ""}, ${interval(cell, column.is_share)}`,
      `${count(cell.n)} samples: ${counts.filter(([name, n]) => n || name === "scored").map(([name, n]) => `${count(n)} ${name}`).join(", ")}`,
      `run ${cell.run}${cell.host ? ` on ${cell.host}` : ""}, ${cell.started.slice(0, 16).replace("T", " ")}`,
      cell.n_earlier ? `${countOf(cell.n_earlier, "earlier run")} with the same settings` : null];
    return { value: cell.value, low: cell.low, high: cell.high, shown: shown(cell.value, column.is_share), rank: rankText(cell.rank), best: cell.rank.best,
      beats: cell.beats, link: links[row][at], tooltip: tooltip.filter((line) => line).join("\n"), isIncomplete: false };
  }));
  const shots = `${column.conditions.shots ?? "0"}-shot`;
  const about = [column.method, shots, column.metric].filter((word) => !column.apart.includes(word));
  const tooltip = [column.label, column.about, ...Object.entries(column.conditions).map(([name, text]) => `${name}: ${text}`), `metric: ${column.metric}`,
    column.higher_is_better ? null : "lower is better", column.counts ? null : "not part of any mean: another column represents the dataset", ...column.notes];
  return { key: `d${at}`, kind: column.counts ? "dataset" : "dataset other", name: column.label, about: `${about.join(" ")}${column.higher_is_better ? "" : " ↓"}`,
    tooltip: tooltip.filter((line) => line).join("\n"), isShare: column.is_share, higherIsBetter: column.higher_is_better, counts: column.counts, cells, ...bounds(cells, column.is_share) };
}

function meanColumn(board, mean, at) {
  const names = (places) => places.map((place) => board.columns[place].label).join(", ");
  const cells = withLeaders(board.mean_cells.map((row) => {
    const cell = row[at];
    if (!cell) return null;
    const isIncomplete = cell.lacks.length > 0;
    const tooltip = [`${shown(cell.value, true)} %, ${interval(cell, true)}`, `mean of ${cell.n_columns} of ${mean.columns.length}`,
      isIncomplete ? `not ranked: no result for ${names(cell.lacks)}` : null];
    return { value: cell.value, low: cell.low, high: cell.high, shown: shown(cell.value, true), beats: cell.beats, isIncomplete, isLeading: false, best: cell.rank?.best ?? null,
      rank: cell.rank ? rankText(cell.rank) : `${cell.n_columns} of ${mean.columns.length}`, tooltip: tooltip.filter((line) => line).join("\n") };
  }));
  const n = mean.columns.length;
  const about = mean.kind === "ability" ? `${n} dataset${n === 1 ? "" : "s"}` : mean.kind === "shared" ? "every model has these" : "models with all datasets";
  return { key: `m${at}`, kind: mean.kind === "ability" ? "ability" : "mean", name: mean.name, about, tooltip: `${mean.name}\n${names(mean.columns)}`,
    isShare: true, higherIsBetter: true, counts: true, cells, ...bounds(cells, true) };
}

function pairwiseColumn(board) {
  const cells = board.standings.map((one) => (one.win_rate === null ? null : {
    value: one.win_rate, low: null, high: null, shown: percent(one.win_rate, 0), rank: `+${one.n_won} −${one.n_lost}`, best: null, beats: [], isLeading: false, isIncomplete: true,
    tooltip: [`higher value in ${percent(one.win_rate)} of ${count(one.n_duels)} pairwise comparisons (one other model on one dataset)`, `significantly better in ${one.n_won}, significantly worse in ${one.n_lost}`,
      one.mean_rank === null ? null : `mean rank ${plain(one.mean_rank)} over the datasets that all models have`].filter((line) => line).join("\n") }));
  return { key: "pairwise", kind: "mean", name: "pairwise wins", about: "significant + −", tooltip: "Each model against each other model, on each dataset that both have", isShare: true, higherIsBetter: true,
    counts: false, cells, low: 0, high: 1 };
}

// Returns the columns by dataset, after the means and pairwise wins; or by ability.
export function columnsOf({ board, links }, by) {
  const means = board.means.map((mean, at) => [mean, at]).filter(([mean]) => (mean.kind === "ability") === (by === "ability")).map(([mean, at]) => meanColumn(board, mean, at));
  if (by === "ability") return means;
  const pairwiseWins = board.models.length > 1 ? [pairwiseColumn(board)] : [];
  const datasets = board.columns.map((column, at) => [column, at]).filter(([column]) => column.part === null).map(([column, at]) => datasetColumn(board, links, column, at));
  return [...means, ...pairwiseWins, ...datasets];
}
