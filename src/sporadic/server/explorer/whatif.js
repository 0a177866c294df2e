// What if: observations that are only supposed. Put into the figure with the pointer, or into a list with the keyboard.

import { hasLevels, isCount, isLog, levelOf } from "./kinds.js";
import { byId, element } from "./text.js";

const STILL = 6; // pixels within which a press is a click and not a drag

export class WhatIf {
  /** `changed(since)` is called whenever what is supposed changes, with the moment at which the reader did it. */
  constructor(changed) {
    this.changed = changed;
    this.study = null;
    this.geometry = null;
    this.frame = byId("frame");
    this.frame.addEventListener("pointerdown", (event) => this.press(event));
    byId("what-if-add").addEventListener("click", () => this.addInList());
    byId("what-if-clear").addEventListener("click", () => this.update(() => (this.study.supposed = [])));
  }

  show(study) {
    this.study = study;
    this.list();
  }

  fit(geometry) {
    this.geometry = geometry;
    this.grips();
  }

  update(change) {
    const since = performance.now();
    change();
    this.list();
    this.grips();
    return this.changed(since);
  }

  at(event) {
    const box = this.frame.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  timeAt(x) {
    const { clock, start, end } = this.study;
    return clock.rounded(clock.at(this.geometry.shownAt(x)), end - start);
  }

  /** A press that ends where it began supposes an observation there. */
  press(event) {
    if (event.button !== 0 || !this.geometry || event.target.closest(".grip, .now-handle")) return;
    const from = this.at(event);
    const row = this.geometry.rowAt(from.y);
    if (row < 0 || !this.geometry.inside(from.x)) return;
    const release = (end) => {
      removeEventListener("pointerup", release);
      removeEventListener("pointercancel", release);
      const to = this.at(end);
      if (end.type !== "pointerup" || Math.hypot(to.x - from.x, to.y - from.y) > STILL) return;
      const variable = this.geometry.variables[row];
      this.update(() => this.study.suppose(variable.name, this.timeAt(from.x), this.geometry.valueAt(row, from.y)));
    };
    addEventListener("pointerup", release);
    addEventListener("pointercancel", release);
  }

  // -- in the figure --------------------------------------------------------------------------------------------------

  /** A grip over each supposed observation. Those that exist are moved, so that focus and drags survive. */
  grips() {
    const place = byId("grips");
    if (!this.geometry || !this.study) return;
    const kept = new Set(this.study.supposed.map(({ key }) => String(key)));
    for (const grip of [...place.children]) if (!kept.has(grip.dataset.key)) grip.remove();
    for (const each of this.study.supposed) {
      let grip = place.querySelector(`[data-key="${each.key}"]`);
      if (!grip) place.append((grip = this.grip(each)));
      const row = this.geometry.variables.findIndex(({ name }) => name === each.variable);
      grip.hidden = row < 0;
      if (row < 0) continue;
      grip.style.left = `${this.geometry.x(this.study.clock.shown(each.time))}px`;
      grip.style.top = `${this.geometry.y(row, each.value)}px`;
      grip.setAttribute("aria-label", `Supposed: ${each.variable} ${each.value}, ${this.study.clock.told(each.time)}`);
    }
  }

  grip(each) {
    const grip = element("button", { type: "button", className: "grip", "data-key": each.key, "data-testid": "grip" });
    const forget = () => this.update(() => this.study.forget(each.key));
    const made = performance.now();
    grip.addEventListener("dblclick", () => {
      if (performance.now() - made > 600) forget(); // not the second half of the click that put it there
    });
    grip.addEventListener("keydown", (event) => this.nudge(event, each, forget));
    grip.addEventListener("pointerdown", (event) => this.drag(event, each, grip));
    return grip;
  }

  drag(event, each, grip) {
    if (event.button !== 0) return;
    event.stopPropagation();
    grip.setPointerCapture(event.pointerId);
    const from = this.at(event);
    const row = this.geometry.variables.findIndex(({ name }) => name === each.variable);
    let moving = false;
    const move = (next) => {
      const to = this.at(next);
      moving ||= Math.hypot(to.x - from.x, to.y - from.y) > 3;
      const there = { time: this.timeAt(to.x), value: this.geometry.valueAt(row, to.y) };
      if (moving && (there.time !== each.time || there.value !== each.value)) this.update(() =>
        Object.assign(each, there));
    };
    const release = (end) => {
      if (moving && end.type === "pointerup") move(end);
      grip.removeEventListener("pointermove", move);
    };
    grip.addEventListener("pointermove", move);
    for (const end of ["pointerup", "pointercancel"]) grip.addEventListener(end, release, { once: true });
  }

  nudge(event, each, forget) {
    if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      forget();
      byId("what-if-add").focus();
      return;
    }
    const [right, up] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key]
      ?? [0, 0];
    if (!right && !up) return;
    event.preventDefault();
    const { start, end, clock } = this.study;
    this.update(() => {
      if (right) each.time = clock.rounded(Math.min(Math.max(each.time + (right * (end - start)) / 100, start), end),
        end - start);
      if (up) each.value = this.stepped(each, up);
    });
  }

  /** The next value up or down: a level, a whole number, or a thirtieth of the panel. */
  stepped(each, way) {
    const row = this.geometry.variables.findIndex(({ name }) => name === each.variable);
    const variable = this.geometry.variables[row];
    if (hasLevels(variable)) {
      const k = levelOf(variable, each.value) + way;
      return variable.levels[Math.min(Math.max(k, 0), variable.levels.length - 1)];
    }
    if (isCount(variable)) return Math.max(0, each.value + way);
    return this.geometry.valueAt(row, this.geometry.y(row, each.value) - (way * this.geometry.rowHeight) / 30);
  }

  // -- in the list ----------------------------------------------------------------------------------------------------

  /** A new one beside `now`, of the first variable, with the value that is expected of it. */
  addInList() {
    const { study } = this;
    const variable = study.model.variables[0];
    const time = study.clock.rounded(study.now + (study.end - study.now) / 4, study.end - study.start);
    this.update(() => study.suppose(variable.name, time, this.expected(variable, time)));
    byId("what-if-list").lastElementChild?.querySelector("select").focus();
  }

  expected(variable, time) {
    const { answer } = this.study;
    const belief = answer?.beliefs[variable.name];
    if (hasLevels(variable)) return variable.levels.at(-1);
    const at = Math.max(answer?.times.findLastIndex((each) => each <= time) ?? 0, 0);
    const value = belief?.median[at] ?? belief?.mean[at] ?? 0;
    return isCount(variable) ? Math.round(value) : Number(value.toPrecision(3));
  }

  list() {
    const place = byId("what-if-list");
    const { supposed } = this.study;
    byId("what-if-clear").hidden = supposed.length === 0;
    document.body.classList.toggle("supposing", supposed.length > 0);
    const kept = new Set(supposed.map(({ key }) => String(key)));
    for (const item of [...place.children]) if (!kept.has(item.dataset.key)) item.remove();
    for (const each of supposed) {
      const old = place.querySelector(`[data-key="${each.key}"]`);
      if (!old || old.dataset.variable !== each.variable) {
        const item = this.item(each);
        if (old) old.replaceWith(item);
        else place.append(item);
      } else this.refill(old, each);
    }
  }

  refill(item, each) {
    const [time, value] = item.querySelectorAll("[data-field]");
    if (document.activeElement !== time) time.value = this.study.clock.field(each.time);
    if (document.activeElement !== value) value.value = String(each.value);
  }

  item(each) {
    const { study } = this;
    const variable = study.model.variables.find(({ name }) => name === each.variable);
    const choose = element("select", { "aria-label": "Variable" },
      ...study.model.variables.map(({ name }) => element("option",
        { value: name, textContent: name, selected: name === each.variable })));
    choose.addEventListener("change", () => {
      const other = study.model.variables.find(({ name }) => name === choose.value);
      this.update(() => Object.assign(each, { variable: other.name, value: this.expected(other, each.time) }));
      byId("what-if-list").querySelector(`[data-key="${each.key}"] select`)?.focus();
    });
    const time = element("input", {
      type: study.clock.dated ? "datetime-local" : "number", step: study.clock.dated ? 1 : "any",
      "data-field": "time", "aria-label": "Time", value: study.clock.field(each.time),
    });
    time.addEventListener("change", () => {
      const read = study.clock.unfield(time.value);
      if (Number.isFinite(read)) {
        study.reach(read);
        this.update(() => Object.assign(each, { time: read }));
      }
    });
    const value = this.valueField(variable, each);
    const remove = element("button", {
      type: "button", className: "quiet", textContent: "✕", "aria-label": `Remove ${each.variable}`,
        "data-testid": "what-if-remove",
      onclick: () => {
        this.update(() => study.forget(each.key));
        byId("what-if-add").focus();
      },
    });
    const item = element("li", { "data-key": each.key, "data-variable": each.variable }, choose, time, value, remove);
    item.addEventListener("keydown", (event) => {
      if (event.key === "Delete" && event.target === choose) remove.click();
    });
    return item;
  }

  valueField(variable, each) {
    if (hasLevels(variable)) {
      const field = element("select", { "data-field": "value", "aria-label": "Value" },
        ...variable.levels.map((level) => element("option", { value: String(level), textContent: String(level) })));
      field.value = String(variable.levels[levelOf(variable, each.value)]);
      field.addEventListener("change", () => this.update(() => (each.value = variable.levels[field.selectedIndex])));
      return field;
    }
    const field = element("input", {
      type: "number", step: isCount(variable) ? 1 : "any", min: isCount(variable) || isLog(variable) ? 0 : undefined,
      "data-field": "value", "aria-label": "Value", value: String(each.value),
    });
    field.addEventListener("change", () => {
      const read = Number(field.value);
      if (field.value !== "" && Number.isFinite(read)) this.update(() =>
        (each.value = isCount(variable) ? Math.round(read) : read));
    });
    return field;
  }
}
