// Light or dark: what the system says until the reader says otherwise. Figures ask for their colours here.

// Okabe and Ito's, dark and light by turns, as in sporadic.plots.levels.
export const CATEGORIES = ["#0072B2", "#E69F00", "#009E73", "#F0E442", "#D55E00", "#56B4E9", "#CC79A7", "#BBBBBB"];

export const PALETTES = {
  light: {
    paper: "#ffffff", ink: "#1d2429", soft: "#5b666e", line: "#e3e8eb", future: "rgba(90, 105, 115, 0.09)",
    belief: "#0072B2", inner: "rgba(0, 114, 178, 0.30)", outer: "rgba(0, 114, 178, 0.15)",
    supposed: "#D55E00", supposedInner: "rgba(213, 94, 0, 0.30)", supposedOuter: "rgba(213, 94, 0, 0.15)",
    untouched: "#0072B2", edge: "#ffffff", ramp: ["#e1edf7", "#b7d4ea", "#7fb6da", "#4490c6", "#1c66a8"],
  },
  dark: {
    paper: "#14191d", ink: "#e4e9ec", soft: "#a7b3bb", line: "#2b343a", future: "rgba(200, 215, 225, 0.09)",
    belief: "#56B4E9", inner: "rgba(86, 180, 233, 0.34)", outer: "rgba(86, 180, 233, 0.17)",
    supposed: "#E69F00", supposedInner: "rgba(230, 159, 0, 0.34)", supposedOuter: "rgba(230, 159, 0, 0.17)",
    untouched: "#56B4E9", edge: "#14191d", ramp: ["#22323e", "#2a4f69", "#2f6a90", "#3f8cbc", "#62b0e0"],
  },
};

export const palette = () => PALETTES[document.documentElement.dataset.theme];

/** A colour for each level: from faint to strong where they have an order, else told apart. */
export function levelColours({ levels, ordered }, { ramp }) {
  const many = levels.length;
  if (!ordered && many > 2) return levels.map((_, k) => CATEGORIES[Math.min(k, CATEGORIES.length - 1)]);
  return levels.map((_, k) => between(ramp, many === 1 ? 0.5 : k / (many - 1)));
}

function between(ramp, share) {
  const place = share * (ramp.length - 1);
  const at = Math.min(Math.floor(place), ramp.length - 2);
  const parts = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const [from, to] = [parts(ramp[at]), parts(ramp[at + 1])];
  return `rgb(${from.map((low, i) => Math.round(low + (to[i] - low) * (place - at))).join(", ")})`;
}

export function startTheme(button, redraw) {
  const root = document.documentElement;
  const set = (theme) => {
    root.dataset.theme = theme;
    button.setAttribute("aria-pressed", String(theme === "dark"));
    button.textContent = theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", "Dark mode");
    redraw();
  };
  button.addEventListener("click", () => {
    const theme = root.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("sporadic-theme", theme);
    set(theme);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
    if (!localStorage.getItem("sporadic-theme")) set(event.matches ? "dark" : "light");
  });
  set(root.dataset.theme);
}
