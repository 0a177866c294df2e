// What the reader is told when something is amiss: one sentence, and what can be done about it.

import { hasToken, keepToken } from "./api.js";
import { byId, element } from "./text.js";

const place = () => byId("message");

export function clear() {
  place().hidden = true;
  delete place().dataset.kind;
  place().replaceChildren();
}

/** Takes back what was said of a request, but not what there is to know of the database. */
export function forget() {
  if (["gone", "failure"].includes(place().dataset.kind)) clear();
}

function say(kind, ...content) {
  place().dataset.kind = kind;
  place().replaceChildren(...content.filter((part) => part !== null));
  place().hidden = false;
}

/** A failure of the service, and a way on: a token where one is asked for, else another try. */
export function tell(failure, retry) {
  if (failure.status === 401) return askForToken(retry);
  if (failure.status === undefined) console.error(failure);
  const hopeless = failure.status >= 400 && failure.status < 500; // the same request would be refused again
  const again = () => {
    clear();
    retry();
  };
  say(failure.status === 0 ? "gone" : "failure",
    element("p", { textContent: failure.status === undefined
      ? "The explorer itself failed; the browser's console says where." : failure.message }),
    retry && !hopeless ? element("button", { type: "button", textContent: "Try again", "data-testid": "retry",
      onclick: again }) : null);
}

export function unknownSeries(id) {
  say("unknown", element("p", { textContent: `There is no series “${id}” here. Pick another one from the list.` }));
}

export function nothingObserved(id) {
  say("unknown", element("p", { textContent: `Nothing was observed of series “${id}” yet. Pick another one.` }));
}

export function noSeries(model) {
  const variable = model.variables[0];
  const time = model.time.kind === "datetimes" ? `2026-01-31T12:00:00${model.time.timezone ? "+00:00" : ""}` : 0;
  const value = variable.levels.length ? variable.levels[0] : 1;
  const statics = Object.fromEntries(model.static.map(({ name, levels }) => [name, levels.length ? levels[0] : 1]));
  const one = { id: "1", time, values: { [variable.name]: value },
    ...(model.static.length ? { static: statics } : {}) };
  const body = JSON.stringify({ observations: [one] }).replaceAll("'", "'\\''");
  const token = hasToken() ? " \\\n  -H 'Authorization: Bearer TOKEN'" : "";
  const kind = "-H 'Content-Type: application/json'";
  const curl = `curl ${location.origin}/observations \\\n  ${kind}${token} \\\n  -d '${body}'`;
  const retry = element("button", { type: "button", textContent: "Look again", "data-testid": "retry", onclick: () =>
    location.reload() });
  say("empty", element("p", { textContent: "No series yet: POST /observations to begin one, for example" }),
    element("pre", { "data-testid": "curl", tabIndex: 0, textContent: curl }), retry);
}

function askForToken(retry) {
  const field = element("input", { type: "password", autocomplete: "off", "aria-label": "Token",
    "data-testid": "token" });
  const form = element("form", {}, field, element("button", { type: "submit", textContent: "Open" }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!field.value) return;
    keepToken(field.value);
    clear();
    retry();
  });
  const wrong = hasToken() ? "That token was not accepted. " : "";
  say("token", element("p",
    { textContent: `${wrong}This service asks for its token (SPORADIC_TOKEN). It is kept until this tab is closed.` }),
    form);
  field.focus();
}
