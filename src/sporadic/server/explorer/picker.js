// Picks a series: a search field over a list, as a combobox, so that arrow keys and Enter will do.

import * as api from "./api.js";
import { byId, element, short } from "./text.js";

const PAGE = 50;

export class Picker {
  /** `picked(id)` is called when the reader picks, `failed(failure, retry)` when the service does not list. */
  constructor(picked, failed) {
    Object.assign(this, { picked, failed, shown: [], total: 0, active: -1, chosen: null, turn: 0 });
    this.field = byId("search");
    this.list = byId("series-list");
    this.field.addEventListener("input", () => {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.search(), 120);
    });
    this.field.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("click", (event) => {
      const item = event.target.closest("[role=option]");
      if (item) this.pick(Number(item.dataset.at));
    });
    byId("series-more").addEventListener("click", () => this.search({ more: true }));
  }

  /** Lists what matches; resolves to how many there are, or null where that failed or was overtaken. */
  async search({ more = false } = {}) {
    const turn = ++this.turn;
    try {
      const answer = await api.series(this.field.value.trim(), PAGE, more ? this.shown.length : 0);
      if (turn !== this.turn) return null;
      this.shown = more ? [...this.shown, ...answer.series] : answer.series;
      this.total = answer.total;
      if (!more) this.active = -1;
      this.show();
      return this.total;
    } catch (failure) {
      this.failed(failure, () => this.search({ more }));
      return null;
    }
  }

  show() {
    this.list.replaceChildren(...this.shown.map(({ id, observations }, at) =>
      element("li", { role: "option", id: `series-${at}`, "data-at": at, "data-id": id, title: id },
        element("span", { textContent: short(id, 60) }),
        element("small", { textContent: `${observations.toLocaleString("en")} values` }))));
    const searched = this.field.value.trim() !== "";
    byId("series-count").textContent =
      this.total === 0 ? (searched ? "No series has this in its id." : "")
        : `${this.shown.length} of ${this.total.toLocaleString("en")} series`;
    byId("series-more").hidden = this.shown.length >= this.total;
    this.mark();
  }

  choose(id) {
    this.chosen = id;
    this.mark({ scroll: true });
  }

  mark({ scroll = false } = {}) {
    for (const item of this.list.children) {
      const chosen = item.dataset.id === this.chosen;
      item.setAttribute("aria-selected", String(chosen));
      item.classList.toggle("active", Number(item.dataset.at) === this.active);
      if (scroll && chosen) reveal(this.list, item);
    }
    const item = this.list.children[this.active];
    if (item) {
      this.field.setAttribute("aria-activedescendant", item.id);
      reveal(this.list, item);
    } else this.field.removeAttribute("aria-activedescendant");
  }

  key(event) {
    const last = this.shown.length - 1;
    const to = { ArrowDown: Math.min(this.active + 1, last), ArrowUp: Math.max(this.active - 1, 0) }[event.key];
    if (to !== undefined && last >= 0) {
      event.preventDefault();
      this.active = to;
      this.mark();
    } else if (event.key === "Enter" && last >= 0) {
      event.preventDefault();
      this.pick(Math.max(this.active, 0));
    } else if (event.key === "Escape" && this.field.value) {
      this.field.value = "";
      this.search();
    }
  }

  pick(at) {
    this.active = at;
    this.picked(this.shown[at].id);
  }
}

/** Scrolls the list, and nothing but the list. */
function reveal(list, item) {
  const top = item.offsetTop - list.offsetTop;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + item.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top
    + item.offsetHeight - list.clientHeight;
}
