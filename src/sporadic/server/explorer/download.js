// What is shown, as a file: numbers as CSV, the figure as PNG on white paper.

import { geometryOf, pictureOf } from "./figure.js";
import { chances, hasLevels } from "./kinds.js";
import { plain } from "./text.js";
import { PALETTES } from "./theme.js";

const cell = (value) => {
  if (value === null || value === undefined) return "";
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** One row per time and variable of each belief, and one per observation. */
export function csvOf(study) {
  const { clock, answer, model } = study;
  const levels = [...new Set(model.variables.flatMap((variable) => variable.levels.map(String)))];
  const head = [
    "id", clock.column, "variable", "what", "value", "mean", "std", "median", "lo-50", "hi-50", "lo-95", "hi-95",
    ...levels.map((level) => `p:${level}`),
  ];
  const rows = [head];
  const observed = (time, name, what, value) => rows.push([study.id, clock.write(time), name, what, value]);
  for (const variable of model.variables) {
    for (const { time, value } of study.of(variable.name)) {
      observed(time, variable.name, time <= answer.now ? "observed" : "observed later", value);
    }
    for (const each of answer.supposed) if (each.variable === variable.name) observed(each.time, each.variable,
      "supposed", each.value);
    const told = answer.untouched ? { "what if": answer.beliefs, belief: answer.untouched }
      : { belief: answer.beliefs };
    for (const [what, beliefs] of Object.entries(told)) rows.push(
      ...believed(study, variable, what, beliefs[variable.name], levels));
  }
  return rows.map((row) => head.map((_, i) => cell(row[i])).join(",")).join("\r\n") + "\r\n";
}

function believed({ id, clock, answer }, variable, what, belief, levels) {
  const { mean, std, median, intervals } = belief;
  const shares = hasLevels(variable) ? chances(variable, belief) : [];
  return answer.times.map((time, at) => [
    id, clock.write(time), variable.name, what, "", mean[at], std[at], median[at], intervals["50"].low[at],
      intervals["50"].high[at],
    intervals["95"].low[at], intervals["95"].high[at],
    ...levels.map((level) => shares[variable.levels.findIndex((own) => String(own) === level)]?.[at]),
  ]);
}

const fileName = (study, ending) => `series-${study.id.replace(/[^\w.-]+/g, "_").slice(0, 80)}.${ending}`;

function save(href, name) {
  const link = document.createElement("a");
  Object.assign(link, { href, download: name });
  link.click();
}

export function downloadCsv(study) {
  const url = URL.createObjectURL(new Blob([csvOf(study)], { type: "text/csv" }));
  save(url, fileName(study, "csv"));
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export async function downloadPng(study) {
  const colours = PALETTES.light;
  const geometry = geometryOf(study, Math.max(geometryOf(study).width, 720));
  geometry.margin.t += 28;
  geometry.height += 28;
  const { data, layout } = pictureOf(study, geometry, colours);
  const until = study.clock.shown(study.answer.now);
  layout.title = {
    text: `${plain(`Series ${study.id}`)} · now: ${plain(study.clock.told(study.answer.now))}`, font: { size: 14 },
    x: geometry.margin.l / geometry.width, xanchor: "left", y: 1 - 20 / geometry.height, yanchor: "middle",
  };
  layout.shapes.push({ type: "line", xref: "x", yref: "paper", x0: until, x1: until, y0: 0, y1: 1,
    line: { color: colours.ink, width: 1.5 } });
  const url = await window.Plotly.toImage({ data, layout },
    { format: "png", width: geometry.width, height: geometry.height, scale: 2 });
  save(url, fileName(study, "png"));
}
