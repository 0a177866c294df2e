// Times. Inside the page a time is a number: the column's own, or milliseconds since 1970. The service speaks text for
// datetimes, and a figure shows what the clocks of the model's time zone show.

import { number } from "./text.js";

const HOUR = 3_600_000;
const ROUND = [1000, 60_000, 600_000, HOUR, 6 * HOUR, 24 * HOUR];

export class Clock {
  constructor({ kind, timezone, column, span }) {
    this.dated = kind === "datetimes";
    this.zone = this.dated ? timezone : null;
    this.column = column;
    this.span = this.dated ? span * 1000 : span;
    this.texts = new Map(); // a time that came as text is sent back as that text, to its last microsecond
    this.offsets = new Map();
    this.parts = this.zone ? zoneParts(this.zone) : null;
  }

  /** A time of the service as a number. */
  read(time) {
    if (!this.dated) return time;
    const known = /(?:Z|[+-]\d\d:?\d\d)$/.test(time);
    const value = Date.parse(known ? time : `${time}Z`);
    if (!this.texts.has(value) || this.texts.get(value) < time) this.texts.set(value, time);
    return value;
  }

  /** A number as the service takes it. */
  write(time) {
    if (!this.dated) return time;
    const text = new Date(time).toISOString();
    return this.texts.get(time) ?? (this.zone ? text : text.slice(0, -1));
  }

  /** A stretch of time as the service takes it. */
  stretch(length) {
    return this.dated ? `${Math.max(length, 0) / 1000}s` : Math.max(length, 0);
  }

  /** Where a time lies on the figure's axis. */
  shown(time) {
    return this.zone ? time + this.offset(time) : time;
  }

  /** The time at a place of the figure's axis. */
  at(shown) {
    return this.zone ? shown - this.offset(shown - this.offset(shown)) : shown;
  }

  offset(time) {
    const hour = Math.floor(time / HOUR);
    if (!this.offsets.has(hour)) this.offsets.set(hour, this.parts(hour * HOUR) - hour * HOUR);
    return this.offsets.get(hour);
  }

  /** A time as precise as a hand can place it on an axis of this length. */
  rounded(time, length) {
    const finest = length / 500;
    if (!this.dated) {
      const unit = 10 ** Math.floor(Math.log10(finest || 1));
      return Number((Math.round(time / unit) * unit).toPrecision(12));
    }
    const unit = ROUND.findLast((each) => each <= finest) ?? 1;
    return this.at(Math.round(this.shown(time) / unit) * unit);
  }

  /** A time for people. */
  told(time) {
    if (!this.dated) return `${this.column} ${number(time, 5)}`;
    const text = new Date(this.shown(time)).toISOString();
    return text.endsWith("T00:00:00.000Z") ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
  }

  /** The value of an input field, and back. */
  field(time) {
    return this.dated ? new Date(this.shown(time)).toISOString().slice(0, 19) : String(time);
  }

  unfield(text) {
    if (text === "") return NaN;
    return this.dated ? this.at(Date.parse(`${text}Z`)) : Number(text);
  }
}

function zoneParts(timeZone) {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric",
      second: "numeric",
  });
  return (time) => {
    const part = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
    return Date.UTC(part.year, part.month - 1, part.day, part.hour, part.minute, part.second);
  };
}
