// Text and elements. Whatever comes from data goes through textContent, or through `plain` into a figure.

/** An element: properties, `data-` and `aria-` attributes, and children that are elements or text. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.includes("-") || name === "role" || name === "for" || name === "list") made.setAttribute(name, value);
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made[name] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const byId = (id) => document.getElementById(id);

/** Text that Plotly, which reads some HTML, shows as it is. */
export const plain = (text) =>
  String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

export const short = (text, most) => (String(text).length <= most ? String(text)
  : `${String(text).slice(0, most - 1)}…`);

/** Three digits that count. */
export function number(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const shown =
    size !== 0 && (size >= 1e6 || size < 1e-3)
      ? value.toExponential(digits - 1)
      : size >= 10 ** digits
        ? Math.round(value).toLocaleString("en")
        : String(Number(value.toPrecision(digits)));
  return shown.replace("-", "−");
}

export function signed(value, digits = 2) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value).toFixed(digits);
  return Number(size) === 0 ? size : `${value < 0 ? "−" : "+"}${size}`;
}

/** A table of text, or elements, with its first column as row heads. */
export function table(caption, heads, rows, properties = {}) {
  return element(
    "div",
    { className: "wide", tabIndex: 0, role: "region", "aria-label": caption },
    element(
      "table",
      properties,
      element("caption", { textContent: caption }),
      element("thead", {}, element("tr", {}, ...heads.map((text) =>
        element("th", { scope: "col", textContent: text })))),
      element(
        "tbody",
        {},
        ...rows.map(([head, ...cells]) =>
          element(
            "tr",
            {},
            element("th", { scope: "row" }, head),
            ...cells.map((cell) => element("td", {}, cell)),
          ),
        ),
      ),
    ),
  );
}
