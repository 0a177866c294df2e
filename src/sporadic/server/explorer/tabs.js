// Tabs as the ARIA practices have them: one is in the tab order, arrow keys go to the others.

import { TABS } from "./address.js";
import { byId } from "./text.js";

export class Tabs {
  constructor(chosen) {
    this.chosen = "series";
    for (const name of TABS) {
      const tab = byId(`tab-${name}`);
      tab.addEventListener("click", () => {
        if (this.chosen === name) return;
        this.choose(name);
        chosen(name);
      });
      tab.addEventListener("keydown", (event) => {
        const at = TABS.indexOf(name);
        const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: TABS.length - 1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        const next = byId(`tab-${TABS.at(to % TABS.length)}`);
        next.focus();
        next.click();
      });
    }
  }

  choose(name) {
    this.chosen = name;
    for (const each of TABS) {
      byId(`tab-${each}`).setAttribute("aria-selected", String(each === name));
      byId(`tab-${each}`).tabIndex = each === name ? 0 : -1;
      byId(`view-${each}`).hidden = each !== name;
    }
  }
}
