// The traces of the figure: for each variable always the same ones in the same order, so that a redraw is cheap.

import { chances, hasLevels, height, isBinary, isCount } from "./kinds.js";
import { number, plain } from "./text.js";
import { levelColours } from "./theme.js";

/**
 * What is to be drawn: `variables`; `times` as shown and `beliefs` by variable; `untouched` beliefs, or null; `seen` and
 * `supposed` observations by variable as {x, value, known}; `colours`.
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

// -- numbers -----------------------------------------------------------------------------------------------------------

function bands({ times, beliefs, untouched, colours }, variable) {
  const belief = beliefs?.[variable.name];
  const before = untouched?.[variable.name];
  const [line, inner, outer] = untouched
    ? [colours.supposed, colours.supposedInner, colours.supposedOuter]
    : [colours.belief, colours.inner, colours.outer];
  const [x, ...lines] = curves(variable, times, belief ? parts(belief) : []);
  const [low95, high95, low50, high50, mean] = lines;
  return [
    { name: "95 %", ...area(x, low95, high95), ...filled(outer) },
    { name: "50 %", ...area(x, low50, high50), ...filled(inner) },
    dashes(variable, times, before ? [before.mean, before.intervals["95"].low, before.intervals["95"].high] : [], colours.untouched),
    {
      name: "mean", mode: "lines", x, y: mean ?? [], line: { color: line, width: 1.8 },
      customdata: mean ? x.map((_, i) => [number(mean[i]), number(low95[i]), number(high95[i])]) : [],
      hovertemplate: "<b>%{meta}</b> %{customdata[0]}<br>95 %: %{customdata[1]} to %{customdata[2]}<extra></extra>",
    },
  ];
}

const parts = ({ intervals, mean }) => [
  intervals["95"].low, intervals["95"].high, intervals["50"].low, intervals["50"].high, mean,
];

/** Times and values as drawn: as they are, or for counts in steps. */
function curves(variable, times, lines) {
  if (!isCount(variable)) return [times, ...lines];
  const later = (list) => list.flatMap((_, i) => (i ? [i, i] : [i])).map((i) => list[i]);
  const held = (list) => list.flatMap((_, i) => (i ? [i - 1, i] : [i])).map((i) => list[i]);
  return [later(times), ...lines.map(held)];
}

function area(x, low, high) {
  if (!low) return { x: [], y: [] };
  const kept = [...x.keys()].filter((i) => low[i] !== null && high[i] !== null);
  const back = kept.toReversed();
  return {
    x: [...kept.map((i) => x[i]), ...back.map((i) => x[i])],
    y: [...kept.map((i) => high[i]), ...back.map((i) => low[i])],
  };
}

const filled = (fillcolor) => ({ mode: "lines", fill: "toself", fillcolor, line: { width: 0 }, hoverinfo: "skip" });

/** The belief without what is supposed: the first line dashed, its limits dotted all the finer. */
function dashes(variable, times, lines, color) {
  const [x, ...drawn] = curves(variable, times, lines);
  const gap = [null];
  return {
    name: "untouched", mode: "lines", hoverinfo: "skip", line: { color, width: 1.4, dash: "5px,4px" },
    x: drawn.flatMap(() => [...x, null]), y: drawn.flatMap((line) => [...line, ...gap]),
  };
}

// -- levels ------------------------------------------------------------------------------------------------------------

/** Areas on top of each other from 0 to 1, the first level lowest; of two levels, the probability of the second. */
function ribbons({ times, beliefs, untouched, colours }, variable) {
  const shades = levelColours(variable);
  const order = stacking(variable);
  const tops = (belief) => stacked(order.map((k) => chances(variable, belief)[k]));
  const belief = beliefs?.[variable.name];
  const drawn = belief ? tops(belief) : [];
  const before = untouched?.[variable.name];
  const share = belief ? chances(variable, belief) : [];
  return [
    ...order.map((k, place) => ({
      name: plain(variable.levels[k]), mode: "lines", x: belief ? times : [], y: drawn[place] ?? [],
      fill: place ? "tonexty" : "tozeroy", fillcolor: shades[k], line: { color: colours.paper, width: place < order.length - 1 ? 1 : 0 },
      customdata: share[k] ? share[k].map((p) => number(p, 2)) : [], text: plain(variable.levels[k]),
      hovertemplate: "<b>%{meta}</b> P(%{text}) %{customdata}<extra></extra>",
    })),
    {
      name: "untouched", mode: "lines", hoverinfo: "skip", line: { color: colours.supposed, width: 1.6, dash: "5px,4px" },
      x: before ? order.slice(1).flatMap(() => [...times, null]) : [],
      y: before ? tops(before).slice(0, -1).flatMap((line) => [...line, null]) : [],
    },
  ];
}

export const stacking = (variable) => (isBinary(variable) ? [1, 0] : variable.levels.map((_, k) => k));

function stacked(lists) {
  const sum = lists[0].map(() => 0);
  return lists.map((list) => list.map((p, i) => (sum[i] = Math.min(1, sum[i] + (p ?? 0)))));
}

// -- observations ------------------------------------------------------------------------------------------------------

function seen({ seen, colours }, variable) {
  const points = seen[variable.name] ?? [];
  return {
    name: "observed", mode: "markers", x: points.map(({ x }) => x), y: points.map(({ value }) => height(variable, value)),
    cliponaxis: false,
    marker: {
      size: 7.5,
      color: points.map(({ known }) => (known ? colours.ink : colours.paper)),
      line: { width: points.map(({ known }) => (known ? 1 : 1.5)), color: points.map(({ known }) => (known ? colours.edge : colours.ink)) },
    },
    customdata: points.map(({ value, known }) => `${typeof value === "number" ? number(value, 5) : plain(value)}${known ? "" : " (not known yet)"}`),
    hovertemplate: "<b>%{meta}</b> observed: %{customdata}<extra></extra>",
  };
}

function supposed({ supposed, colours }, variable) {
  const points = supposed[variable.name] ?? [];
  return {
    name: "what if", mode: "markers", x: points.map(({ x }) => x), y: points.map(({ value }) => height(variable, value)),
    cliponaxis: false, hoverinfo: "skip",
    marker: { symbol: "diamond", size: 11, color: colours.supposed, line: { width: 1.5, color: colours.edge } },
  };
}
