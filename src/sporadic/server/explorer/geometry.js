// Where things are: panels below each other in pixels, over one stretch of time. The figure is drawn with these very
// margins and ranges, so that a pointer's place can be read without asking Plotly.

import { hasLevels, isBinary, isCount, isLog, onAxis, valueAt } from "./kinds.js";

const GAP = 18;

export class Geometry {
  constructor(variables, width, span, ranges) {
    const narrow = width < 520;
    this.variables = variables;
    this.width = width;
    this.span = span; // of the axis, as shown
    this.ranges = ranges; // of each variable, on the scale of its axis
    this.margin = { l: narrow ? 66 : 84, r: narrow ? 8 : 14, t: 30, b: 46 };
    this.rowHeight = narrow ? 84 : 92;
    this.height = this.margin.t + this.margin.b + variables.length * (this.rowHeight + GAP) - GAP;
    this.narrow = narrow;
  }

  get plotWidth() {
    return Math.max(this.width - this.margin.l - this.margin.r, 10);
  }

  top(row) {
    return this.margin.t + row * (this.rowHeight + GAP);
  }

  /** Of the whole plotting area, from its bottom: what Plotly calls a domain. */
  domain(row) {
    const whole = this.height - this.margin.t - this.margin.b;
    const from = (this.top(row) - this.margin.t) / whole;
    return [Math.max(1 - from - this.rowHeight / whole, 0), 1 - from];
  }

  x(shown) {
    const [first, last] = this.span;
    return this.margin.l + ((shown - first) / (last - first)) * this.plotWidth;
  }

  shownAt(x) {
    const [first, last] = this.span;
    const share = Math.min(Math.max((x - this.margin.l) / this.plotWidth, 0), 1);
    return first + share * (last - first);
  }

  inside(x) {
    return x >= this.margin.l && x <= this.margin.l + this.plotWidth;
  }

  /** The panel at a height, or -1 between panels. */
  rowAt(y) {
    return this.variables.findIndex((_, row) => y >= this.top(row) && y <= this.top(row) + this.rowHeight);
  }

  y(row, value) {
    const [low, high] = this.ranges[row];
    const share = Math.min(Math.max((onAxis(this.variables[row], value) - low) / (high - low), 0), 1);
    return this.top(row) + (1 - share) * this.rowHeight;
  }

  valueAt(row, y) {
    const [low, high] = this.ranges[row];
    const share = Math.min(Math.max(1 - (y - this.top(row)) / this.rowHeight, 0), 1);
    return valueAt(this.variables[row], low + share * (high - low), this.ranges[row]);
  }
}

/** The range of a variable's axis: what was observed, and beliefs as far as they go not much beyond that. */
export function rangeOf(variable, values, belief) {
  if (isBinary(variable)) return [-0.12, 1.12];
  if (hasLevels(variable)) return [0, 1];
  const scale = isLog(variable) ? Math.log10 : (value) => value;
  const usable = (list) => list.map(scale).filter(Number.isFinite);
  const seen = usable(values);
  const outer = belief?.intervals["95"];
  const drawn = outer ? usable([...outer.low, ...outer.high].filter((value) => value !== null)) : [];
  if (!seen.length && !drawn.length) return [0, 1];
  let low = Math.min(...(seen.length ? seen : drawn));
  let high = Math.max(...(seen.length ? seen : drawn));
  if (drawn.length) {
    const sorted = drawn.toSorted((a, b) => a - b);
    const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
    const room = Math.max(high - low, at(0.75) - at(0.25));
    low = Math.max(Math.min(low, sorted[0]), low - room);
    high = Math.min(Math.max(high, sorted.at(-1)), high + room);
  }
  const edge = (high - low || Math.abs(high) || 1) * 0.06;
  return [isCount(variable) ? Math.min(-edge, low) : low - edge, high + edge];
}

export const widest = ([low, high], [lower, higher]) => [Math.min(low, lower), Math.max(high, higher)];
