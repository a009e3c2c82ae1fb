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

// Returns about n round values from low to high. If the two differ only by rounding noise, the step is taken from their size.
export function ticks(low, high, n = 5) {
  const size = Math.max(Math.abs(low), Math.abs(high));
  const raw = (high - low > 1e-9 * size ? high - low : size || 1) / n;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw * 0.999);
  const found = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high * (1 + 1e-9) + 1e-12; place++) found.push(Number((place * step).toPrecision(12)));
  return found;
}
