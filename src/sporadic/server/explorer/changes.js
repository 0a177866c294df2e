// How far what is supposed moves each belief, in numbers: right after it, and at the end.

import { chances } from "./kinds.js";
import { byId, element, number, plain, signed, table } from "./text.js";

/** Of one variable at one place: the mean before and after, in units of the untouched belief's deviation. */
function change(variable, before, after, at) {
  const [from, to] = [before.mean?.[at], after.mean?.[at]];
  if (typeof from === "number" && typeof to === "number") {
    const std = before.std[at];
    return { from, to, moved: std > 0 ? (to - from) / std : null, unit: "sd", what: "" };
  }
  if (!before.probabilities) return null;
  const [was, is] = [chances(variable, before), chances(variable, after)].map((all) => all.map((list) => list[at]));
  const k = was.reduce((most, p, i) => (Math.abs(is[i] - p) > Math.abs(is[most] - was[most]) ? i : most), 0);
  const std = Math.sqrt(was[k] * (1 - was[k]));
  return { from: was[k], to: is[k], moved: std > 0 ? (is[k] - was[k]) / std : null, unit: "sd",
    what: `P(${variable.levels[k]})` };
}

/** For each variable: the change right after the latest supposed time, and at the end. */
export function changes(study) {
  const { answer } = study;
  if (!answer?.untouched) return [];
  const latest = Math.max(...answer.supposed.map(({ time }) => time));
  const last = answer.times.length - 1;
  const after = Math.max(answer.times.findLastIndex((time) => time <= latest), 0);
  return study.model.variables.flatMap((variable) => {
    const [before, now] = [answer.untouched[variable.name], answer.beliefs[variable.name]];
    if (!before || !now) return [];
    const [soon, late] = [after, last].map((at) => change(variable, before, now, at));
    return soon && late ? [{ variable, soon, late }] : [];
  });
}

/** Notes for the corners of the panels. */
export const notes = (found) =>
  Object.fromEntries(found.filter(({ soon }) => soon.moved !== null)
    .map(({ variable, soon }) => [variable.name, `${plain(soon.what)} ${signed(soon.moved)} ${soon.unit}`.trim()]));

export function showChanges(study, found) {
  const place = byId("changes");
  if (!found.length) return place.replaceChildren();
  const latest = Math.max(...study.answer.supposed.map(({ time }) => time));
  const end = study.answer.times.at(-1);
  const most = Math.max(0.5, ...found.flatMap(({ soon, late }) => [soon, late]
    .map(({ moved }) => Math.abs(moved ?? 0))));
  const tables = [
    ["soon", `Right after ${study.clock.told(latest)}`, "change-table"],
    ["late", `At the end, ${study.clock.told(end)}`, "change-table-end"],
  ].map(([when, caption, testid]) =>
    table(caption, ["variable", "mean before → after", "change, sd"],
      found.map((each) => row(each, each[when], study, most)), { className: "changes", "data-testid": testid }));
  place.replaceChildren(...tables,
    element("p", { className: "note", textContent: "sd: in standard deviations of the untouched belief." }));
}

function row({ variable }, { from, to, moved, what }, study, most) {
  const own = study.answer.supposed.some((each) => each.variable === variable.name);
  const name = element("span", { textContent: `${variable.name}${own ? " ◆" : ""}`, title: own ? "supposed" : "" });
  const bar = element("i", { className: "bar" });
  bar.style.setProperty("--moved", String((moved ?? 0) / most));
  bar.classList.toggle("down", (moved ?? 0) < 0);
  return [
    name,
    `${what ? `${what} ` : ""}${number(from)} → ${number(to)}`,
    element("span", { className: "moved" }, bar, element("b", { textContent: signed(moved) })),
  ];
}
