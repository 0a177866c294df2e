// A classic script, so that the theme is known before anything is painted.
(() => {
  const chosen = localStorage.getItem("sporadic-theme");
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
