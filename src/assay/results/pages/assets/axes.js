// Axes of plots: positions of values from 0 to 1, and ticks at round values.

import { roundTime, short, timeUnit } from "./numbers.js";

const MOST_LOG_TICKS = 7;
// Times whose greatest is more than this many times their smallest get a logarithmic axis.
const WIDE = 10;

// `ticks` are pairs of value and label. `at` returns the position of a value, limited to the axis.
export function axis(low, high, ticks, isLog = false) {
  const place = isLog
    ? (value) => Math.log(Math.max(value, low) / low) / (Math.log(high / low) || 1)
    : (value) => (value - low) / (high - low || 1);
  return { low, high, ticks, at: (value) => Math.min(Math.max(place(value), 0), 1) };
}

// Returns the smallest of 1, 2, 2.5, 5 times a power of ten that is no smaller than this, but for rounding noise.
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 2.5, 5].find((one) => one * power >= least * (1 - 1e-9)) ?? 10);
}

// Returns at most n + 1 round values from low to high. If the two differ only by rounding noise, the step is taken from their size.
export function ticks(low, high, n = 5) {
  const size = Math.max(Math.abs(low), Math.abs(high));
  const step = roundStep((high - low > 1e-9 * size ? high - low : size || 1) / n);
  const found = [];
  for (let place = Math.ceil(low / step - 1e-9); place <= high / step + 1e-9; place++) found.push(Number((place * step).toPrecision(12)));
  return found;
}

// Returns round values between two positive ones: a few to each power of ten, or one to several.
function logTicks(low, high) {
  const powers = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) powers.push(power);
  const choices = [[[1, 2, 5], 1], [[1, 3], 1], [[1], 1], [[1], 2], [[1], 3]].map(([digits, every]) =>
    powers.filter((power) => power % every === 0).flatMap((power) => digits.map((digit) => digit * 10 ** power))
      .filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)));
  return choices.find((found) => found.length <= MOST_LOG_TICKS) ?? choices.at(-1);
}

// From 0 to the first tick that is not below `high`.
export function amountAxis(high, n = 4, label = short) {
  const most = high > 0 ? high : 1;
  const step = roundStep(most / n);
  const values = Array.from({ length: n + 1 }, (_, place) => place).filter((place) => (place - 1) * step < most * (1 - 1e-9)).map((place) => place * step);
  return axis(0, values.at(-1), values.map((value) => [value, label(value)]));
}

// From 0, with integers as ticks.
export function countAxis(high, n = 4) {
  const most = Math.max(high, 1);
  const step = Math.max(Math.round(roundStep(most / n) + 0.4), 1);
  const values = Array.from({ length: Math.ceil(most / step) + 1 }, (_, place) => place * step);
  return axis(0, values.at(-1), values.map((value) => [value, short(value)]));
}

// Times from low to high.
export function timeAxis(low, high, { isLog = false, n = 5 } = {}) {
  if (isLog) return axis(low, high, logTicks(low, high).map((tick) => [tick, roundTime(tick)]), true);
  const [unit, symbol] = timeUnit(high);
  return axis(low, high, ticks(low / unit, high / unit, n).map((tick) => [tick * unit, `${short(tick)} ${symbol}`]));
}

// The time since the start of a load.
export function elapsedAxis(duration) {
  return timeAxis(0, duration || 1, { n: 8 });
}

// Times from 0 to the first tick that is not below the greatest.
export function timeAxisFrom0(greatest) {
  const [unit, symbol] = timeUnit(greatest);
  const { high, ticks: found } = amountAxis(greatest / unit, 3);
  return axis(0, high * unit, found.map(([tick, label]) => [tick * unit, `${label} ${symbol}`]));
}

// Times drawn as points: from 0, or logarithmic for a wide range.
export function pointTimeAxis(values) {
  const positive = values.filter((value) => value > 0);
  const [low, high] = positive.length ? [Math.min(...positive), Math.max(...positive)] : [1, 1];
  return high / low <= WIDE ? timeAxisFrom0(high) : timeAxis(low / 1.3, high * 1.3, { isLog: true });
}
