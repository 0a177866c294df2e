// Draws a study: gathers what is to be seen into a scene, and hands it to Plotly.

import { changes, notes, showChanges } from "./changes.js";
import { Geometry } from "./geometry.js";
import { layout } from "./layout.js";
import { traces } from "./panels.js";
import { byId } from "./text.js";
import { palette } from "./theme.js";

const CONFIG = { displayModeBar: false, scrollZoom: false, doubleClick: false, showTips: false, responsive: false };

export function geometryOf(study, width = byId("frame").clientWidth) {
  const { clock, start, end } = study;
  const edge = (end - start) / 60; // or the first observation would lie on the axis
  return new Geometry(study.model.variables, width, [clock.shown(start) - edge, clock.shown(end)], study.ranges);
}

function sceneOf(study, found, colours) {
  const { clock, answer, model } = study;
  const seen = Object.fromEntries(model.variables.map(({ name }) => [
    name,
    study.of(name).map(({ time, value }) => ({ x: clock.shown(time), value, known: time <= answer.now })),
  ]));
  const supposed = Object.groupBy(
    answer.supposed.map((each) => ({ ...each, x: clock.shown(each.time) })), ({ variable }) => variable);
  return {
    variables: model.variables, clock, colours, seen, supposed, notes: notes(found), until: clock.shown(answer.now),
    times: answer.times.map((time) => clock.shown(time)), beliefs: answer.beliefs, untouched: answer.untouched,
  };
}

/** Data and layout for Plotly, in any size and colours. */
export function pictureOf(study, geometry, colours) {
  const found = changes(study);
  const scene = sceneOf(study, found, colours);
  return { data: traces(scene), layout: layout(scene, geometry), found };
}

export async function draw(study) {
  const geometry = geometryOf(study);
  const { data, layout: arranged, found } = pictureOf(study, geometry, palette());
  const figure = byId("figure");
  await window.Plotly.react(figure, data, arranged, CONFIG);
  showChanges(study, found);
  const known = study.points.filter(({ time }) => time <= study.answer.now).length;
  figure.setAttribute("aria-label",
    `Beliefs about ${study.model.variables.length} variables of series ${study.id}, ` +
    `${study.clock.told(study.answer.now)}: ${known} of ${study.points.length} time points are known.`);
  return geometry;
}
