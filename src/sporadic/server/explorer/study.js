// One series under study: what was observed, where `now` is, what is supposed, and what the service last answered.

import * as api from "./api.js";
import { rangeOf, widest } from "./geometry.js";

// Points of a path: just below what the service pads to, so that it compiles few programs.
const POINTS = [126, 254, 510, 1022];
const FEWEST = 60; // steps of a curve that looks like one
const LEVELS = [50, 95];

export class Study {
  constructor(model, clock, record, now = null) {
    Object.assign(this, { model, clock, record, id: record.id });
    this.points = record.observations.map(({ time, values }) => ({ time: clock.read(time), values }));
    this.first = this.points[0].time;
    this.last = this.points.at(-1).time;
    this.start = this.first;
    this.end = this.last + (this.last - this.first || clock.span || 1) / 4;
    this.now = Number.isFinite(now) ? Math.min(Math.max(now, this.first), this.last) : this.last;
    this.supposed = []; // {key, variable, time, value}
    this.answer = null;
    this.ranges = null;
  }

  /** The times of the observations, each once. */
  get times() {
    return [...new Set(this.points.map(({ time }) => time))];
  }

  /** Values that were observed of a variable, as {time, value}. */
  of(name) {
    return this.points.filter(({ values }) => values[name] !== undefined && values[name] !== null)
      .map(({ time, values }) => ({ time, value: values[name] }));
  }

  /** Into how many steps to divide the path, so that with two points at each time it has one of a few lengths. */
  steps(now, supposed) {
    const at = new Set([...this.times.filter((time) => time <= now), ...supposed.map(({ time }) => time)]);
    const taken = 2 * at.size;
    return (POINTS.find((points) => points - taken >= FEWEST) ?? taken + FEWEST) - taken;
  }

  /** Asks what is believed, given what is known now and what is supposed at this moment. */
  async ask() {
    const { now, clock } = this;
    const supposed = this.supposed.map((each) => ({ ...each }));
    const asked = { until: clock.write(now), horizon: clock.stretch(this.end - now), steps: this.steps(now, supposed),
      levels: LEVELS };
    const answer = supposed.length
      ? await api.whatIf(this.id, this.together(supposed), asked)
      : await api.path(this.id, asked);
    return {
      now, supposed,
      times: answer.times.map((time) => clock.read(time)),
      beliefs: answer.what_if ?? answer.variables,
      untouched: answer.untouched ?? null,
    };
  }

  /** What is supposed as the service takes it: one entry per time. */
  together(supposed) {
    const entries = new Map();
    for (const { variable, time, value } of supposed) {
      if (!entries.has(time)) entries.set(time, { time: this.clock.write(time), values: {} });
      entries.get(time).values[variable] = value;
    }
    return [...entries.values()];
  }

  /** Takes an answer in. Axes may grow by it but never shrink, so that what moves is the belief and not the axis. */
  take(answer) {
    this.answer = answer;
    this.start = Math.min(this.start, answer.times[0]);
    const found = this.model.variables.map((variable) =>
      rangeOf(variable, [...this.of(variable.name).map(({ value }) => Number(value)),
        ...answer.supposed.filter((each) => each.variable === variable.name).map(({ value }) => Number(value))],
      answer.beliefs[variable.name]));
    const names = this.model.variables.map(({ name }) => name);
    this.ranges = Object.fromEntries(found.map((range, i) =>
      [names[i], this.ranges ? widest(range, this.ranges[names[i]]) : range]));
  }

  suppose(variable, time, value) {
    this.reach(time);
    const made = { key: nextKey++, variable, time, value };
    this.supposed.push(made);
    return made;
  }

  /** Makes the axis as long as it has to be to show this time. */
  reach(time) {
    if (time > this.end) this.end = time + (time - this.start) / 20;
    this.start = Math.min(this.start, time);
  }

  forget(key) {
    this.supposed = this.supposed.filter((each) => each.key !== key);
  }
}

let nextKey = 1;
