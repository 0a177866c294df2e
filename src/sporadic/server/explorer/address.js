// What is looked at lives in the address behind the #, so that a view can be shared.

export const TABS = ["series", "calibration", "card"];

export function read() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const tab = fields.get("tab");
  return { series: fields.get("series"), now: fields.get("now"), tab: TABS.includes(tab) ? tab : "series" };
}

/** Writes it anew. Another series or tab is a step that "back" undoes; a moved `now` is not. */
export function write({ series, now, tab }, { step = false } = {}) {
  const fields = new URLSearchParams();
  if (series !== null && series !== undefined) fields.set("series", series);
  if (now !== null && now !== undefined) fields.set("now", now);
  if (tab && tab !== "series") fields.set("tab", tab);
  const hash = `#${fields}`;
  if (hash === location.hash || (hash === "#" && !location.hash)) return;
  history[step ? "pushState" : "replaceState"](null, "", hash);
}
