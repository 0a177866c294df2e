// The traces of the figure, variable by variable: a belief, what was observed, and what is supposed.

import { chances, hasLevels, height, isBinary, isCount } from "./kinds.js";
import { number, plain } from "./text.js";
import { levelColours } from "./theme.js";

/**
 * What is to be drawn: `variables`; `times` as shown and `beliefs` by variable; `untouched` beliefs, or null, which
 * differ from the time numbered `cut` on; `seen` and `supposed` observations by variable as {x, value, known};
 * `colours`; and whether there is to be a text for what is `hovered`.
 */
export function traces(scene) {
  return scene.variables.flatMap((variable, row) => {
    const axis = row ? `y${row + 1}` : "y";
    const draw = hasLevels(variable) ? ribbons : bands;
    return [...draw(scene, variable), seen(scene, variable), supposed(scene, variable)].map((trace) => ({
      type: "scatter", xaxis: "x", yaxis: axis, showlegend: false, meta: plain(variable.name), ...trace,
    }));
  });
}

// -- numbers ----------------------------------------------------------------------------------------------------------

/** One belief; or, from the first supposed time on, the new one and, dashed, the untouched one. */
function bands(scene, variable) {
  const { times, untouched, cut, colours } = scene;
  const belief = scene.beliefs[variable.name];
  const own = [colours.belief, colours.inner, colours.outer];
  if (!untouched) return fan(scene, variable, belief, times, "", own);
  const [before, after] = [(list) => list.slice(0, cut + 1), (list) => list.slice(cut)];
  const old = untouched[variable.name];
  return [
    ...fan(scene, variable, kept(belief, before), before(times), "", own),
    ...fan(scene, variable, kept(belief, after), after(times), "what if ",
      [colours.supposed, colours.supposedInner, colours.supposedOuter]),
    dashes(variable, after(times), [old.mean, old.intervals["95"].low, old.intervals["95"].high].map(after),
      colours.untouched),
  ];
}

const kept = ({ mean, intervals }, part) => ({
  mean: part(mean),
  intervals: Object.fromEntries(Object.entries(intervals)
    .map(([level, { low, high }]) => [level, { low: part(low), high: part(high) }])),
});

function fan({ hovered }, variable, { mean, intervals }, times, what, [line, inner, outer]) {
  const [x, y, low95, high95, low50, high50] = curves(variable, times, [
    mean, intervals["95"].low, intervals["95"].high, intervals["50"].low, intervals["50"].high,
  ]);
  return [
    { name: `${what}95 %`, ...area(x, low95, high95), ...filled(outer) },
    { name: `${what}50 %`, ...area(x, low50, high50), ...filled(inner) },
    {
      name: `${what}mean`, mode: "lines", x, y, line: { color: line, width: 1.8 },
      customdata: hovered ? x.map((_, i) => [number(y[i]), number(low95[i]), number(high95[i])]) : [],
      hovertemplate:
        `<b>%{meta}</b> ${what}%{customdata[0]}<br>95 %: %{customdata[1]} to %{customdata[2]}<extra></extra>`,
    },
  ];
}

/** Times and values as drawn: as they are, or for counts in steps. */
function curves(variable, times, lines) {
  if (!isCount(variable)) return [times, ...lines];
  const later = (list) => list.flatMap((_, i) => (i ? [i, i] : [i])).map((i) => list[i]);
  const held = (list) => list.flatMap((_, i) => (i ? [i - 1, i] : [i])).map((i) => list[i]);
  return [later(times), ...lines.map(held)];
}

function area(x, low, high) {
  const kept = [...x.keys()].filter((i) => low[i] !== null && high[i] !== null);
  const back = kept.toReversed();
  return {
    x: [...kept.map((i) => x[i]), ...back.map((i) => x[i])],
    y: [...kept.map((i) => high[i]), ...back.map((i) => low[i])],
  };
}

const filled = (fillcolor) => ({ mode: "lines", fill: "toself", fillcolor, line: { width: 0 }, hoverinfo: "skip" });

/** The belief without what is supposed: its mean and its limits. */
function dashes(variable, times, lines, color) {
  const [x, ...drawn] = curves(variable, times, lines);
  return {
    name: "untouched", mode: "lines", hoverinfo: "skip", line: { color, width: 1.4, dash: "5px,4px" },
    x: drawn.flatMap(() => [...x, null]), y: drawn.flatMap((line) => [...line, null]),
  };
}

// -- levels -----------------------------------------------------------------------------------------------------------

/** Areas on top of each other from 0 to 1, the first level lowest; of two levels, the probability of the second. */
function ribbons({ times, beliefs, untouched, cut, colours, hovered }, variable) {
  const shades = levelColours(variable, colours);
  const order = stacking(variable);
  const share = chances(variable, beliefs[variable.name]);
  const tops = stacked(order.map((k) => share[k]));
  const drawn = order.map((k, place) => ({
    name: plain(variable.levels[k]), mode: "lines", x: times, y: tops[place],
    fill: place ? "tonexty" : "tozeroy", fillcolor: shades[k],
      line: { color: colours.paper, width: place < order.length - 1 ? 1 : 0 },
    customdata: hovered ? share[k].map((p) => `P(${plain(variable.levels[k])}) ${number(p, 2)}`) : [],
    hovertemplate: "<b>%{meta}</b> %{customdata}<extra></extra>",
  }));
  if (!untouched) return drawn;
  const before = chances(variable, untouched[variable.name]);
  const lines = stacked(order.map((k) => before[k].slice(cut))).slice(0, -1);
  return [...drawn, dashes(variable, times.slice(cut), lines, colours.supposed)];
}

export const stacking = (variable) => (isBinary(variable) ? [1, 0] : variable.levels.map((_, k) => k));

function stacked(lists) {
  const sum = lists[0].map(() => 0);
  return lists.map((list) => list.map((p, i) => (sum[i] = Math.min(1, sum[i] + (p ?? 0)))));
}

// -- observations -----------------------------------------------------------------------------------------------------

function seen({ seen, colours }, variable) {
  const points = seen[variable.name] ?? [];
  return {
    name: "observed", mode: "markers", x: points.map(({ x }) => x),
      y: points.map(({ value }) => height(variable, value)),
    cliponaxis: false,
    marker: {
      size: 7.5,
      color: points.map(({ known }) => (known ? colours.ink : colours.paper)),
      line: { width: points.map(({ known }) => (known ? 1 : 1.5)),
        color: points.map(({ known }) => (known ? colours.edge : colours.ink)) },
    },
    customdata: points.map(({ value, known }) =>
      `${typeof value === "number" ? number(value, 5) : plain(value)}${known ? "" : " (not known yet)"}`),
    hovertemplate: "<b>%{meta}</b> observed: %{customdata}<extra></extra>",
  };
}

function supposed({ supposed, colours }, variable) {
  const points = supposed[variable.name] ?? [];
  return {
    name: "what if", mode: "markers", x: points.map(({ x }) => x),
      y: points.map(({ value }) => height(variable, value)),
    cliponaxis: false, hoverinfo: "skip",
    marker: { symbol: "diamond", size: 11, color: colours.supposed, line: { width: 1.5, color: colours.edge } },
  };
}
