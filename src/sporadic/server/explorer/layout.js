// The layout of the figure: one time axis, one panel below the other, the future shaded. All ranges and ticks are
// given, which spares Plotly the search for them at every redraw.

import { hasLevels, isBinary, isLog } from "./kinds.js";
import { number, plain, short } from "./text.js";
import { levelColours } from "./theme.js";

const FONT = 'system-ui, "Segoe UI", "DejaVu Sans", sans-serif';

export function layout({ variables, clock, until, notes, colours }, geometry) {
  const made = {
    width: geometry.width, height: geometry.height, margin: { ...geometry.margin, pad: 0, autoexpand: false },
    paper_bgcolor: colours.paper, plot_bgcolor: "rgba(0, 0, 0, 0)",
      font: { family: FONT, size: 12, color: colours.ink },
    showlegend: false, hovermode: "x", hoverdistance: 24, dragmode: false, uirevision: "fixed",
    hoverlabel: { bgcolor: colours.paper, bordercolor: colours.soft,
      font: { family: FONT, size: 12, color: colours.ink }, align: "left" },
    xaxis: timeAxis(clock, geometry, colours, { anchor: `y${variables.length > 1 ? variables.length : ""}`,
      side: "bottom" }),
    shapes: [
      {
        type: "rect", layer: "above", xref: "x", yref: "paper", y0: 0, y1: 1, line: { width: 0 },
          fillcolor: colours.future,
        x0: until, x1: Math.max(geometry.span[1], until),
      },
    ],
    annotations: variables.flatMap((variable, row) => (notes?.[variable.name]
      ? [note(notes[variable.name], row, geometry, colours)] : [])),
  };
  made.xaxis.title = { text: plain(clock.column), standoff: 6 };
  variables.forEach((variable, row) => {
    made[`yaxis${row ? row + 1 : ""}`] = valueAxis(variable, geometry.ranges[row], geometry.domain(row), geometry,
      colours);
  });
  return made;
}

function timeAxis(clock, geometry, colours, more) {
  return {
    type: clock.dated ? "date" : "linear", range: [...geometry.span], fixedrange: true, gridcolor: colours.line,
      zeroline: false,
    nticks: geometry.narrow ? 5 : 9, ticks: "outside", ticklen: 4, tickcolor: colours.soft,
      tickfont: { color: colours.soft },
    showline: false, hoverformat: clock.dated ? "%Y-%m-%d %H:%M" : ".5~r", exponentformat: "none", ...more,
  };
}

function valueAxis(variable, range, domain, geometry, colours) {
  const length = geometry.narrow ? 11 : 13;
  return {
    type: isLog(variable) ? "log" : "linear", range: [...range], domain, anchor: "x", fixedrange: true, zeroline: false,
    gridcolor: colours.line, automargin: false, tickfont: { size: 11, color: colours.soft }, showline: true,
      linecolor: colours.line,
    title: { text: plain(short(variable.name, length)), standoff: 4,
      font: { size: variable.name.length > 9 ? 11 : 12.5, color: colours.ink } },
    ...ticks(variable, range, geometry.narrow ? 5 : 8, colours),
  };
}

function ticks(variable, range, most, colours) {
  if (hasLevels(variable)) {
    const shades = levelColours(variable, colours);
    const name = (k) => `${plain(short(variable.levels[k], most))} <span style="color:${shades[k]}">■</span>`;
    const rows = variable.levels.map((_, k) => (isBinary(variable) ? k : (k + 0.5) / variable.levels.length));
    const every = Math.ceil(rows.length / 6);
    const kept = [...rows.keys()].filter((k) => k % every === 0);
    return { tickmode: "array", tickvals: kept.map((k) => rows[k]), ticktext: kept.map(name),
      showgrid: isBinary(variable) };
  }
  const vals = isLog(variable) ? logTicks(range) : linearTicks(range);
  return { tickmode: "array", tickvals: vals, ticktext: vals.map((value) => number(value)) };
}

/** At 1, 2 and 5; or per decade; or, within less than that, as on a plain axis. */
function logTicks([low, high]) {
  const found = [];
  for (let decade = Math.floor(low); decade <= high; decade++) {
    for (const digit of [1, 2, 5]) found.push(Number(`${digit}e${decade}`));
  }
  const inside = found.filter((value) => Math.log10(value) >= low && Math.log10(value) <= high);
  if (inside.length < 2) return linearTicks([10 ** low, 10 ** high]);
  if (inside.length <= 4) return inside;
  const decades = inside.filter((value) => Number.isInteger(Number(Math.log10(value).toFixed(9))));
  const every = Math.ceil((decades.length < 2 ? inside : decades).length / 4);
  return (decades.length < 2 ? inside : decades).filter((_, i) => i % every === 0);
}

function linearTicks([low, high]) {
  const rough = (high - low) / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((digit) => digit * power).find((each) => each >= rough) ?? power;
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) =>
    Number(((first + i) * step).toPrecision(10)));
}

/** How far what is supposed moves the belief, in the corner of the panel. */
const note = (text, row, geometry, colours) => ({
  text, showarrow: false, xref: "paper", x: 1, xanchor: "right", yref: "paper", y: geometry.domain(row)[1],
    yanchor: "bottom",
  yshift: -3, font: { size: 11, color: colours.supposed }, captureevents: false,
});
