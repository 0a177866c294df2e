// Shows a study: gathers what is to be seen, sketches it at once, and lets Plotly draw it when all is still.

import { changes, notes, showChanges } from "./changes.js";
import { Geometry } from "./geometry.js";
import { layout } from "./layout.js";
import { traces } from "./panels.js";
import { erase, sketch } from "./sketch.js";
import { byId } from "./text.js";
import { palette } from "./theme.js";
import { shownOf } from "./variables.js";

const CONFIG = { displayModeBar: false, scrollZoom: false, doubleClick: false, showTips: false, responsive: false };
const STILL = 160; // milliseconds without a change after which Plotly draws

export function geometryOf(study, width = byId("frame").clientWidth) {
  const { clock, start, end } = study;
  const edge = (end - start) / 60; // or the first observation would lie on the axis
  const variables = shownOf(study);
  return new Geometry(variables, width, [clock.shown(start) - edge, clock.shown(end)],
    variables.map(({ name }) => study.ranges[name]));
}

/** Data and layout for Plotly, in any size and colours. */
export function pictureOf(study, geometry, colours, { found = changes(study), hovered = true } = {}) {
  const { clock, answer } = study;
  const { variables } = geometry;
  const seen = Object.fromEntries(variables.map(({ name }) => [
    name,
    study.of(name).map(({ time, value }) => ({ x: clock.shown(time), value, known: time <= answer.now })),
  ]));
  const supposed = Object.groupBy(
    answer.supposed.map((each) => ({ ...each, x: clock.shown(each.time) })), ({ variable }) => variable);
  const earliest = Math.min(...answer.supposed.map(({ time }) => time));
  const scene = {
    cut: Math.max(answer.times.findIndex((time) => time >= earliest), 0),
    variables, clock, colours, hovered, seen, supposed, notes: notes(found), until: clock.shown(answer.now),
    times: answer.times.map((time) => clock.shown(time)), beliefs: answer.beliefs, untouched: answer.untouched,
  };
  return { data: traces(scene), layout: layout(scene, geometry) };
}

export class Figure {
  /** `fitted(geometry)` is called whenever panels got another place. */
  constructor(fitted) {
    this.fitted = fitted;
    this.place = byId("figure");
    this.study = this.geometry = null;
    this.version = 0; // of what is to be seen
    this.held = false;
    this.awaited = false;
    byId("frame").addEventListener("pointerover", (event) => {
      if (!this.place.contains(event.target)) this.unhover(); // over a grip, of which Plotly knows nothing
    });
    byId("frame").addEventListener("pointerleave", () => this.unhover());
    addEventListener("pointerdown", () => (this.held = true), true);
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => (this.held = false), true);
  }

  /** The state of the figure, for all to see: an answer is awaited, sketched, drawn, or did not come. */
  tell(state) {
    this.awaited = state === "awaited" || (this.awaited && state !== "answered" && state !== "failed");
    if (!this.awaited || state === "awaited") this.place.dataset.state = state;
  }

  /** The newest answer, at once. The axes stay until Plotly draws. */
  async show(study) {
    if (this.study !== study || !this.geometry) return this.draw(study);
    this.version++;
    this.tell("sketched");
    const found = changes(study);
    const { data, layout: arranged } = pictureOf(study, this.geometry, palette(), { found, hovered: false });
    this.unhover();
    sketch(data, arranged, this.geometry);
    showChanges(study, found);
    this.later();
  }

  unhover() {
    if (this.geometry) window.Plotly.Fx.unhover(this.place);
  }

  later() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => (this.held ? this.later() : this.draw(this.study)), STILL);
  }

  /** All of it, by Plotly. */
  async draw(study) {
    if (!study?.answer || byId("view-series").hidden) return;
    clearTimeout(this.waiting);
    const version = ++this.version;
    this.study = study;
    this.geometry = geometryOf(study);
    const found = changes(study);
    const { data, layout: arranged } = pictureOf(study, this.geometry, palette(), { found });
    await window.Plotly.react(this.place, data, arranged, CONFIG);
    if (version !== this.version) return;
    erase();
    showChanges(study, found);
    this.place.setAttribute("aria-label", told(study));
    this.tell("drawn");
    this.fitted(this.geometry);
  }
}

function told({ id, model, clock, points, answer }) {
  const shown = shownOf({ model, points });
  const known = points.filter(({ time }) => time <= answer.now).length;
  return `Beliefs about ${shown.length} variables of series ${id}, ${clock.told(answer.now)}: ` +
    `${known} of ${points.length} time points are known.`;
}
