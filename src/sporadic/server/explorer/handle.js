// The `now` handle: a slider, a line to be dragged over the figure, and a button that plays the series from its start.

import { byId } from "./text.js";

const PAUSE = 500; // between the steps of a play, in milliseconds

export class Handle {
  /** `moved(time)` is called for every new place and returns a promise of its redraw. */
  constructor(moved) {
    this.moved = moved;
    this.slider = byId("now");
    this.line = byId("now-handle");
    this.button = byId("play");
    this.study = null;
    this.geometry = null;
    this.playing = null;
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.slider.addEventListener("keydown", (event) => this.key(event));
    this.button.addEventListener("click", () => (this.playing ? this.stop() : this.play()));
    this.line.addEventListener("pointerdown", (event) => this.grab(event));
  }

  /** Another series. */
  show(study) {
    this.stop();
    this.study = study;
    this.slider.min = study.first;
    this.slider.max = study.last;
    this.slider.step = "any";
    this.slider.disabled = this.button.disabled = study.first === study.last;
    this.tell();
  }

  /** The figure has another size. */
  fit(geometry) {
    this.geometry = geometry;
    this.tell();
  }

  tell() {
    const { study } = this;
    if (!study) return;
    const known = study.points.filter(({ time }) => time <= study.now).length;
    const text = study.clock.told(study.now);
    this.slider.value = study.now;
    this.slider.setAttribute("aria-valuetext", `${text}, ${known} of ${study.points.length} time points known`);
    byId("now-text").textContent = text;
    if (this.geometry) this.line.style.left = `${this.geometry.x(study.clock.shown(study.now))}px`;
  }

  go(time, { playing = false } = {}) {
    if (!playing) this.stop();
    const { study } = this;
    // Close to the end of the series, or of the slider, its very last time is meant.
    const near = (study.last - study.first) / 500;
    const rounded = study.last - time < near ? study.last : study.clock.rounded(time, study.last - study.first);
    study.now = Math.min(Math.max(playing ? time : rounded, study.first), study.last);
    this.tell();
    return this.moved(study.now);
  }

  /** Arrow keys move by a hundredth, with Shift or by page to the next observation. */
  key(event) {
    const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -2, PageUp: 2 }[event.key];
    if (!way || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const { study } = this;
    if (event.shiftKey || Math.abs(way) === 2) {
      const next = way > 0 ? study.times.find((time) => time > study.now)
        : study.times.findLast((time) => time < study.now);
      this.stop();
      if (next !== undefined) this.go(next, { playing: true });
      return;
    }
    this.go(study.now + (way * (study.last - study.first)) / 100);
  }

  grab(event) {
    if (event.button !== 0 || this.slider.disabled) return;
    event.preventDefault();
    this.line.setPointerCapture(event.pointerId);
    const left = byId("frame").getBoundingClientRect().left;
    const follow = (move) => this.go(this.study.clock.at(this.geometry.shownAt(move.clientX - left)));
    const release = () => {
      this.line.removeEventListener("pointermove", follow);
      this.line.classList.remove("held");
    };
    this.line.classList.add("held");
    this.line.addEventListener("pointermove", follow);
    for (const end of ["pointerup", "pointercancel"]) this.line.addEventListener(end, release, { once: true });
  }

  async play() {
    const { study } = this;
    const ticket = (this.playing = {});
    this.mark(true);
    const times = study.times;
    let next = study.now >= study.last ? 0 : times.findIndex((time) => time > study.now);
    for (; next < times.length && this.playing === ticket; next++) {
      const rest = new Promise((resume) => setTimeout(resume, PAUSE));
      await this.go(times[next], { playing: true });
      await rest;
    }
    if (this.playing === ticket) this.stop();
  }

  stop() {
    this.playing = null;
    this.mark(false);
  }

  mark(playing) {
    this.button.textContent = playing ? "Pause" : "Play";
    this.button.setAttribute("aria-pressed", String(playing));
  }
}
