// The explorer: starts its parts and tells each what the others did.

import * as address from "./address.js";
import * as api from "./api.js";
import { Calibration } from "./calibration.js";
import { Card } from "./card.js";
import { Clock } from "./clock.js";
import { downloadCsv, downloadPng } from "./download.js";
import { Figure } from "./figure.js";
import { Handle } from "./handle.js";
import { Latest } from "./latest.js";
import * as messages from "./messages.js";
import { Picker } from "./picker.js";
import { Study } from "./study.js";
import { Tabs } from "./tabs.js";
import { byId } from "./text.js";
import { startTheme } from "./theme.js";
import { offerVariables } from "./variables.js";
import { WhatIf } from "./whatif.js";

let model = null;
let clock = null;
let study = null;
let opening = 0;
let since = null; // when the reader last changed what is supposed

const handle = new Handle(() => {
  note();
  return ask();
});
const whatIf = new WhatIf((moment) => {
  since = moment;
  return ask();
});
const figure = new Figure((geometry) => {
  handle.fit(geometry);
  whatIf.fit(geometry);
});
const picker = new Picker((id) => open(id, { step: true }), (failure, retry) =>
  messages.tell(failure, study ? retry : start));
const calibration = new Calibration();
const card = new Card();
const tabs = new Tabs((tab) => {
  note({ step: true });
  messages.forget();
  look(tab);
});

/** Asks for the beliefs that go with what is shown, and draws them. An answer about another series comes too late. */
const refresh = new Latest(async () => {
  const asked = study;
  if (!asked) return;
  try {
    const answer = await asked.ask();
    if (asked !== study || Boolean(answer.untouched) !== asked.supposed.length > 0) return;
    if (!refresh.wanted) figure.tell("answered");
    asked.take(answer);
    await figure.show(asked);
    messages.forget();
    if (since !== null && !refresh.wanted) measure(since);
  } catch (failure) {
    if (asked !== study) return;
    since = null;
    figure.tell("failed");
    messages.tell(failure, ask);
  }
});

function ask() {
  figure.tell("awaited");
  return refresh.ask();
}

/** From the reader's hand to the painted page. */
function measure(moment) {
  since = null;
  requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      document.body.dataset.whatIfMs = (performance.now() - moment).toFixed(1);
    };
    port2.postMessage(null);
  });
}

/** Keeps the address in step with what is shown. */
function note(how) {
  const now = study && study.now !== study.last ? clock.write(study.now) : null;
  address.write({ series: study?.id, now, tab: tabs.chosen }, how);
}

async function open(id, { now = null, step = false } = {}) {
  const turn = ++opening;
  try {
    const record = await api.observations(id);
    if (turn !== opening) return;
    messages.clear();
    if (!record.observations.length) {
      close();
      messages.nothingObserved(id);
      return;
    }
    study = new Study(model, clock, record, now === null ? null : clock.read(clock.dated ? now : Number(now)));
  } catch (failure) {
    if (turn !== opening) return;
    if (failure.status === 404) {
      close();
      messages.unknownSeries(id);
    } else messages.tell(failure, () => open(id, { now, step }));
    return;
  }
  delete document.body.dataset.whatIfMs;
  since = null;
  byId("stage").hidden = byId("what-if").hidden = false;
  byId("series-title").textContent = `Series ${study.id}`;
  byId("series-about").textContent = about(study.record);
  picker.choose(study.id);
  handle.show(study);
  whatIf.show(study);
  offerVariables(study, () => figure.draw(study));
  note({ step });
  await ask();
}

const about = ({ static: covariates, observations }) =>
  [`${observations.length} time points`, ...Object.entries(covariates ?? {}).map(([name, value]) =>
    `${name} ${typeof value === "number" ? Number(value.toPrecision(4)) : value}`)].join(" · ");

function close() {
  study = null;
  handle.stop();
  picker.choose(null);
  byId("stage").hidden = byId("what-if").hidden = true;
}

function look(tab) {
  if (tab === "series") figure.draw(study);
  if (tab === "calibration") calibration.show(model, messages.tell);
  if (tab === "card") card.show(model, messages.tell);
}

/** Goes where the address says. */
async function follow() {
  const { series, now, tab } = address.read();
  tabs.choose(tab);
  look(tab);
  if (series !== null && series !== study?.id) await open(series, { now });
  else if (series !== null && study) {
    const time = now === null ? study.last : clock.read(clock.dated ? now : Number(now));
    if (Number.isFinite(time) && time !== study.now) handle.go(time, { playing: true });
  }
}

async function start() {
  if (!window.Plotly) {
    messages.tell(new api.Failure(0, "The figures' script did not come: the service has none at /plotly.js."), () =>
      location.reload());
    return;
  }
  try {
    model = await api.model();
  } catch (failure) {
    messages.tell(failure, start);
    return;
  }
  clock = new Clock(model.time);
  document.title = `${model.name} · sporadic explorer`;
  document.querySelector("h1").textContent = model.name;
  const total = await picker.search();
  if (total === null) return;
  await follow();
  if (total === 0 && address.read().series === null) messages.noSeries(model);
  else if (address.read().series === null && picker.shown.length) await open(picker.shown[0].id);
}

startTheme(byId("theme"), () => {
  figure.draw(study);
  calibration.redraw();
  card.redraw();
});
addEventListener("popstate", follow);
new ResizeObserver(() => {
  figure.draw(study);
  calibration.redraw();
  card.redraw();
}).observe(byId("frame").parentElement.parentElement);
byId("download-csv").addEventListener("click", () => study?.answer && downloadCsv(study));
byId("download-png").addEventListener("click", () => study?.answer && downloadPng(study));
start();
