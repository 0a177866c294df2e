// One series under study: what was observed, where `now` is, what is supposed, and what the service last answered.

import * as api from "./api.js";
import { rangeOf, widest } from "./geometry.js";

const STEPS = 100;
const LEVELS = [50, 95];

export class Study {
  constructor(model, clock, record, now = null) {
    Object.assign(this, { model, clock, record, id: record.id });
    this.points = record.observations.map(({ time, values }) => ({ time: clock.read(time), values }));
    this.first = this.points[0].time;
    this.last = this.points.at(-1).time;
    this.start = record.origin === null ? this.first : Math.min(clock.read(record.origin), this.first);
    const length = this.last - this.start || clock.span || 1;
    this.end = this.last + length / 4;
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

  /** Asks what is believed, given what is known now and what is supposed at this moment. */
  async ask() {
    const { now, clock } = this;
    const supposed = this.supposed.map((each) => ({ ...each }));
    const asked = { until: clock.write(now), horizon: clock.stretch(this.end - now), steps: STEPS, levels: LEVELS };
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
    const found = this.model.variables.map((variable) =>
      rangeOf(variable, [...this.of(variable.name).map(({ value }) => Number(value)),
        ...answer.supposed.filter((each) => each.variable === variable.name).map(({ value }) => Number(value))],
      answer.beliefs[variable.name]));
    this.ranges = this.ranges ? found.map((range, row) => widest(range, this.ranges[row])) : found;
  }

  suppose(variable, time, value) {
    const made = { key: nextKey++, variable, time, value };
    this.supposed.push(made);
    return made;
  }

  forget(key) {
    this.supposed = this.supposed.filter((each) => each.key !== key);
  }
}

let nextKey = 1;
