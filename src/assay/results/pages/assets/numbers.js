// Formatting of numbers, the same on all pages.

export const NOT_KNOWN = "–";

export function count(n) {
  return n === null || n === undefined ? NOT_KNOWN : Math.round(n).toLocaleString("en-US");
}

// Formats a number with this many decimals: rounds half away from zero, after dropping floating-point noise.
// src/assay/core/rounding.py implements the same rule, so that a terminal and a page show the same digits.
export function fixed(value, digits) {
  const steps = Math.floor(Number((Math.abs(value) * 10 ** digits).toPrecision(12)) + 0.5);
  const text = (steps / 10 ** digits).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return value < 0 && steps ? `-${text}` : text;
}

// Formats a number with four significant digits.
export function plain(value) {
  if (value === null || value === undefined) return NOT_KNOWN;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(3).replace(/e([+-])(\d)$/, "e$10$2");
  if (size >= 1000) return fixed(value, 1);
  const text = fixed(value, 3 - Number(size.toExponential().split("e")[1]));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

// Formats a share in percent, without the percent sign.
export function inPercent(share, digits = 1) {
  return fixed(100 * share, digits);
}

export function percent(share, digits = 1) {
  return share === null || share === undefined ? NOT_KNOWN : `${inPercent(share, digits)} %`;
}

export function part(n, whole) {
  return whole ? percent(n / whole) : NOT_KNOWN;
}

export function seconds(value) {
  if (value === null || value === undefined) return NOT_KNOWN;
  if (value >= 3600) return `${Math.floor(value / 3600)} h ${Math.round((value % 3600) / 60)} min`;
  if (value >= 120) return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
  if (value >= 1) return `${Number(value.toPrecision(3))} s`;
  return `${Number((1000 * value).toPrecision(3))} ms`;
}

// Formats a time in the browser's time zone and language.
export function day(iso) {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : time.toLocaleString(undefined, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
}

// Formats a number with its noun: `1 request`, `2,000 requests`.
export function countOf(n, noun) {
  return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

// Formats a number with at least three significant digits: `0.123`, `12.3`, `1,235`.
export function significant(value) {
  if (value === null || value === undefined) return NOT_KNOWN;
  if (value === 0) return "0";
  const exponent = Number(Math.abs(value).toExponential(2).split("e")[1]);
  return fixed(value, Math.min(Math.max(2 - exponent, 0), 6));
}

// Formats a round number of an axis in few characters: `0.5`, `1500`, `20k`, `1.5M`.
export function short(value) {
  const [, divisor, letter] = [[1e9, 1e9, "G"], [1e6, 1e6, "M"], [1e4, 1e3, "k"], [0, 1, ""]].find(([least]) => Math.abs(value) >= least);
  return `${Number((value / divisor).toPrecision(10))}${letter}`;
}

// Formats a share in percent; only 0 and 1 themselves become 0 % and 100 %.
export function strictPercent(share) {
  if (share === 0 || share === 1) return percent(share, 0);
  const digits = Math.min(share, 1 - share) < 0.001 ? 2 : 1;
  const least = 10 ** -digits;
  return `${fixed(Math.min(Math.max(share * 100, least), 100 - least), digits)} %`;
}

// The least number of seconds for each unit, its length and its symbol: 90 s is not shown in minutes.
const TIME_UNITS = [[7200, 3600, "h"], [180, 60, "min"], [1, 1, "s"], [1e-3, 1e-3, "ms"], [0, 1e-6, "µs"]];

// Returns the unit for times up to this many seconds: its length in seconds and its symbol.
export function timeUnit(greatest) {
  return TIME_UNITS.find(([least]) => greatest >= least).slice(1);
}

// Formats a time with the unit that fits it: `12.3 ms`. src/assay/core/rounding.py does the same.
export function time(value) {
  if (value === null || value === undefined) return NOT_KNOWN;
  if (value === 0) return "0 s";
  const [unit, symbol] = timeUnit(Math.abs(value));
  return `${significant(value / unit)} ${symbol}`;
}

// Formats a round time in the largest unit in which it stays round: `500 ms`, `100 s`, `2 min`.
export function roundTime(value) {
  for (const [, unit, symbol] of TIME_UNITS) {
    const amount = value / unit;
    const rounded = Math.round(amount * 100) / 100;
    // With a tolerance: 0.1 * 10 is a second, not 1,000 ms.
    if (amount >= 1 - 1e-9 && Math.abs(amount - rounded) < 1e-6) return `${short(rounded)} ${symbol}`;
  }
  return value ? `${short(Math.round(value * 1e9) / 1e3)} µs` : "0 s";
}
