// Which variables the figure shows: all, or of very many the ones that this series has most values of, until the reader
// chooses. The choice holds for every series.

import { byId, element } from "./text.js";

const MOST = 16;

let chosen = null; // names; null until the reader chose

/** The variables to be shown, in the model's order. */
export function shownOf({ model, points }) {
  if (chosen) return model.variables.filter(({ name }) => chosen.has(name));
  if (model.variables.length <= MOST) return model.variables;
  const count = Object.fromEntries(model.variables.map(({ name }) => [name, 0]));
  for (const { values } of points) for (const name of Object.keys(values)) count[name]++;
  const most = model.variables.toSorted((one, other) => count[other.name] - count[one.name]).slice(0, MOST);
  return model.variables.filter((variable) => most.includes(variable));
}

/** Boxes to tick, for this series; `changed` is called after each. */
export function offerVariables(study, changed) {
  const place = byId("variables");
  const { variables } = study.model;
  place.hidden = variables.length < 2;
  const told = () => {
    place.querySelector("summary").textContent = `Variables: ${shownOf(study).length} of ${variables.length}`;
  };
  const shown = new Set(shownOf(study).map(({ name }) => name));
  const boxes = variables.map(({ name }) => {
    const box = element("input", { type: "checkbox", checked: shown.has(name), value: name });
    box.addEventListener("change", () => {
      const ticked = boxes.filter(({ checked }) => checked).map(({ value }) => value);
      if (!ticked.length) {
        box.checked = true; // a figure of nothing helps nobody
        return;
      }
      chosen = new Set(ticked);
      told();
      changed();
    });
    return box;
  });
  const legend = place.querySelector("legend");
  place.querySelector("fieldset").replaceChildren(legend,
    ...boxes.map((box) => element("label", {}, box, element("span", { textContent: box.value }))));
  told();
}
