// The calibration tab: do beliefs hold what they promise? PIT, coverage, and a table of scores.

import * as api from "./api.js";
import { byId, element, number, plain, short, table } from "./text.js";
import { palette } from "./theme.js";

const CONFIG = { displayModeBar: false, responsive: false };
const LEVEL_MARKS = ["circle", "square", "diamond", "triangle-up", "cross"];
const LEVEL_COLOURS = { light: ["#0072B2", "#D55E00", "#009E73", "#CC79A7"],
  dark: ["#56B4E9", "#E69F00", "#2fbf94", "#d99bbd"] };

let answer = null;

/** Asks once; the card needs it, too. */
export async function measured() {
  answer ??= await api.calibration();
  return answer;
}

export class Calibration {
  constructor() {
    this.view = byId("view-calibration");
    this.which = null;
  }

  async show(model, failed) {
    if (!model) return;
    if (this.found) return this.redraw();
    this.view.replaceChildren(element("p", { className: "note", role: "status",
      textContent: "Forecasting held-back values…" }));
    try {
      this.found = await measured();
    } catch (failure) {
      this.view.replaceChildren();
      failed(failure, () => this.show(model, failed));
      return;
    }
    if (this.found.values === 0) {
      this.view.replaceChildren(element("p", { textContent: `${this.found.how} There is nothing to score yet.` }));
      return;
    }
    this.build();
    this.redraw();
  }

  build() {
    const { found } = this;
    const ranked = [found.total, ...found.variables].filter(({ pit }) => pit);
    this.which = ranked[0] ?? null;
    const choose = element("select", { id: "pit-of", "data-testid": "pit-of" },
      ...ranked.map(({ name }, at) => element("option", { value: at, textContent: name })));
    choose.addEventListener("change", () => {
      this.which = ranked[choose.selectedIndex];
      this.redraw();
    });
    this.pit = element("div", { "data-testid": "pit", role: "img" });
    this.coverage = element("div", { "data-testid": "coverage", role: "img",
      "aria-label": "Coverage of the intervals by variable; the table below has the numbers." });
    this.view.replaceChildren(
      element("h2", { textContent: "Calibration" }),
      element("p", { textContent: `${found.how} These are ${count(found.values)} values.` }),
      element("div", { className: "two" },
        element("figure", {},
          element("figcaption", {}, element("label", { for: "pit-of",
            textContent: "Where the truth fell within the belief (PIT) of " }), choose,
            element("p", { className: "note",
              textContent: "Flat within the shaded band: calibrated. A hump: beliefs too wide. A bowl: too narrow. " +
                "A slope: off to one side." })),
          this.pit),
        element("figure", {},
          element("figcaption", {}, "Coverage by variable",
            element("p", { className: "note",
              textContent: "A mark should lie on the dashed line of its level; left of it, intervals are too narrow.",
            })),
          this.coverage)),
      this.table());
  }

  table() {
    const { found } = this;
    const levels = levelsOf(found);
    const share = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(0)} %`);
    const rows = [...found.variables, found.total].map((each) => [
      each.name, each === found.total ? "" : each.likelihood, each.n.toLocaleString("en"), number(each.nll),
        number(each.mse), number(each.crps),
      number(each.brier), share(each.accuracy), ...levels.map((level) => share(each.coverage?.[level])),
    ]);
    return table("Scores by variable",
      ["variable", "likelihood", "values", "nll", "mse", "crps", "brier", "accuracy",
        ...levels.map((level) => `in ${level} %`)],
      rows, { "data-testid": "calibration-table" });
  }

  redraw() {
    if (!this.found || !this.pit || this.view.hidden) return;
    const colours = palette();
    const width = Math.min(this.pit.parentElement.clientWidth, 640);
    if (this.which) this.drawPit(colours, width);
    this.drawCoverage(colours, width);
  }

  drawPit(colours, width) {
    const { pit, name } = this.which;
    const n = pit.reduce((sum, count) => sum + count, 0);
    const expected = n / pit.length;
    const off = 1.96 * Math.sqrt(expected * (1 - 1 / pit.length));
    const outside = pit.filter((count) => Math.abs(count - expected) > off).length;
    this.pit.setAttribute("aria-label",
      `PIT histogram of ${name}: ${outside} of ${pit.length} bars lie outside the band of a calibrated belief.`);
    const box = { type: "rect", xref: "paper", x0: 0, x1: 1, y0: expected - off, y1: expected + off, line: { width: 0 },
      fillcolor: "rgba(127, 127, 127, 0.35)" };
    const line = { type: "line", xref: "paper", x0: 0, x1: 1, y0: expected, y1: expected,
      line: { color: colours.ink, width: 1.2, dash: "dash" } };
    window.Plotly.react(this.pit,
      [{
        type: "bar", x: pit.map((_, k) => (k + 0.5) / pit.length), y: pit, width: 1 / pit.length, name: plain(name),
        marker: { color: colours.belief, line: { color: colours.paper, width: 1.5 } },
          hovertemplate: "%{y} values<extra></extra>",
      }],
      {
        ...frame(colours, width, 280), shapes: [box, line],
        xaxis: { ...axis(colours), range: [0, 1], title: { text: "quantile of the truth" } },
        yaxis: { ...axis(colours), range: [0, Math.max(...pit, expected + off) * 1.06 || 1],
          title: { text: "values" } },
      }, CONFIG);
  }

  drawCoverage(colours, width) {
    const { found } = this;
    const levels = levelsOf(found);
    const shown = found.variables.filter(({ coverage }) => coverage);
    const shades = LEVEL_COLOURS[document.documentElement.dataset.theme];
    const names = shown.map(({ name }) => plain(short(name, 14)));
    const rows = shown.map((_, at) => at);
    window.Plotly.react(this.coverage,
      levels.map((level, k) => ({
        type: "scatter", mode: "markers", name: `${level} %`, x: shown.map(({ coverage }) => coverage[level]), y: rows,
          text: names,
        marker: { symbol: LEVEL_MARKS[k % LEVEL_MARKS.length], size: 9, color: shades[k % shades.length] },
        hovertemplate: `%{text}: %{x:.0%} within the ${level} % interval<extra></extra>`,
      })),
      {
        ...frame(colours, width, Math.max(280, 90 + 24 * shown.length)), showlegend: true,
        margin: { l: 92, r: 12, t: 30, b: 44 },
        legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { color: colours.ink } },
        shapes: levels.map((level, k) => ({
          type: "line", yref: "paper", y0: 0, y1: 1, x0: level / 100, x1: level / 100,
            line: { color: shades[k % shades.length], width: 1.5, dash: "dash" },
        })),
        xaxis: { ...axis(colours), range: [-0.02, 1.02], tickformat: ".0%",
          title: { text: "share within the interval" } },
        yaxis: { ...axis(colours), range: [shown.length - 0.5, -0.5], tickmode: "array", tickvals: rows,
          ticktext: names },
      }, CONFIG);
  }
}

const count = (number) => number.toLocaleString("en");

const levelsOf = ({ variables, total }) => {
  const known = new Set([...variables, total].flatMap(({ coverage }) => Object.keys(coverage ?? {})));
  return [...known].sort((a, b) => Number(a) - Number(b));
};

export const frame = (colours, width, height) => ({
  width, height, margin: { l: 56, r: 12, t: 12, b: 44 }, paper_bgcolor: colours.paper, plot_bgcolor: colours.paper,
  font: { family: 'system-ui, "Segoe UI", "DejaVu Sans", sans-serif', size: 12, color: colours.ink }, showlegend: false,
    dragmode: false, bargap: 0,
  hoverlabel: { bgcolor: colours.paper, bordercolor: colours.soft, font: { color: colours.ink } },
});

export const axis = (colours) => ({ fixedrange: true, gridcolor: colours.line, zeroline: false,
  tickfont: { color: colours.soft }, automargin: false });
