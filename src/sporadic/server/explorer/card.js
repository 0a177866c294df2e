// The model card: how it was trained, how well it forecasts, what it knows of, and how it was set.

import { axis, frame, measured } from "./calibration.js";
import { byId, element, number, table } from "./text.js";
import { palette } from "./theme.js";

export class Card {
  constructor() {
    this.view = byId("view-card");
    this.model = null;
  }

  async show(model, failed) {
    if (!model) return;
    if (this.model) return this.redraw();
    this.model = model;
    this.build();
    this.redraw();
    try {
      this.scores.replaceChildren(...scores(await measured()));
    } catch (failure) {
      this.model = null;
      this.scores.replaceChildren();
      failed(failure, () => this.show(model, failed));
    }
  }

  build() {
    const { model } = this;
    this.curve = element("div", { "data-testid": "training", role: "img", "aria-label": told(model) });
    this.scores = element("div", { "data-testid": "scores" },
      element("p", { className: "note", role: "status", textContent: "Forecasting held-back values…" }));
    const facts = { model: model.model, parameters: model.parameters.toLocaleString("en"), sporadic: model.sporadic,
      variables: model.variables.length };
    this.view.replaceChildren(
      element("h2", { textContent: model.name }),
      element("dl", { className: "facts" }, ...Object.entries(facts).map(([what, fact]) =>
        element("div", {}, element("dt", { textContent: what }), element("dd", { textContent: String(fact) })))),
      element("h3", { textContent: "Training" }),
      model.history.length ? this.curve : element("p", { className: "note",
        textContent: "This model has no training history." }),
      element("h3", { textContent: "Scores" }), this.scores,
      element("div", { className: "tables" },
        table("Variables", ["variable", "likelihood", "levels"],
          model.variables.map(({ name, likelihood, levels }) =>
            [name, likelihood, levels.length ? levels.join(" · ") : "–"]), { "data-testid": "variables" }),
        inputs(model),
        table("Settings", ["setting", "value"], Object.entries(model.settings)
          .map(([name, value]) => [name, setting(value)]), { "data-testid": "settings" })));
  }

  redraw() {
    if (!this.model?.history.length || this.view.hidden) return;
    const { history, best_epoch: best } = this.model;
    const colours = palette();
    const epochs = history.map(({ epoch }) => epoch);
    const line = (name, key, color, dash) => ({
      type: "scatter", mode: epochs.length > 40 ? "lines" : "lines+markers", name, x: epochs,
        y: history.map((each) => each[key]),
      line: { color, dash, width: 1.8 }, hovertemplate: `epoch %{x}: %{y:.3f}<extra>${name}</extra>`,
    });
    const kept = history.find(({ epoch }) => epoch === best);
    window.Plotly.react(this.curve,
      [
        line("training", "train_nll", colours.belief, "dot"),
        line("validation", "validation_nll", colours.supposed, "solid"),
        {
          type: "scatter", mode: "markers", name: "kept", x: kept ? [best] : [], y: kept ? [kept.validation_nll] : [],
          marker: { symbol: "star", size: 15, color: colours.supposed, line: { color: colours.ink, width: 1 } },
            hovertemplate: "kept: epoch %{x}<extra></extra>",
        },
      ],
      {
        ...frame(colours, Math.min(this.curve.parentElement.clientWidth, 760), 300), showlegend: true,
          margin: { l: 56, r: 12, t: 34, b: 44 },
        legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { color: colours.ink } },
        shapes: kept ? [{ type: "line", yref: "paper", y0: 0, y1: 1, x0: best, x1: best,
          line: { color: colours.soft, width: 1, dash: "dash" } }] : [],
        xaxis: { ...axis(colours), title: { text: "epoch" }, tickformat: "d", dtick: epochs.length <= 12 ? 1
          : undefined },
        yaxis: { ...axis(colours), title: { text: "nll" } },
      }, { displayModeBar: false, responsive: false });
  }
}

const told = ({ history, best_epoch: best }) =>
  `Training curve over ${history.length} epochs${best === null ? "" : `; the weights of epoch ${best} were kept`}.`;

function scores({ total, how, series, values }) {
  if (!values) return [element("p", { className: "note", textContent: "There is nothing to score yet." })];
  const facts = { nll: number(total.nll), mse: number(total.mse), crps: number(total.crps), brier: number(total.brier),
    values: values.toLocaleString("en"), series: series.toLocaleString("en") };
  return [
    element("dl", { className: "facts" }, ...Object.entries(facts).filter(([, fact]) => fact !== "–")
      .map(([what, fact]) =>
      element("div", {}, element("dt", { textContent: what }), element("dd", { textContent: fact })))),
    element("p", { className: "note", textContent: how }),
  ];
}

function inputs({ static: covariates, controls }) {
  const rows = [
    ...covariates.map(({ name, levels }) => [name, "covariate", levels.length ? levels.join(" · ") : "number"]),
    ...controls.map(({ name, kind }) => [name, "control", kind]),
  ];
  return rows.length ? table("Covariates and controls", ["name", "what", "values"], rows) : null;
}

const setting = (value) => (value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value));
