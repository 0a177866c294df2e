// The kinds of variables: with levels, counts, or numbers; and where their values stand in a panel.

export const hasLevels = (variable) => variable.levels.length > 0;
export const isBinary = (variable) => variable.levels.length === 2 && variable.ordered;
export const isCount = (variable) => variable.discrete && !hasLevels(variable);
export const isLog = (variable) => variable.likelihood.split(":")[0] === "log-normal";

/** Which level a value is, however it is written: 1, 1.0 or "1". */
export function levelOf(variable, value) {
  const same = (level) => String(level) === String(value) || (value !== "" && Number(level) === Number(value));
  return variable.levels.findIndex(same);
}

/** Probabilities in the order of the levels. */
export function chances(variable, belief) {
  const names = Object.keys(belief.probabilities);
  return variable.levels.map((level, k) => {
    const name = names.find((each) => levelOf({ levels: [level] }, each) === 0) ?? names[k];
    return belief.probabilities[name];
  });
}

/** The height at which a value is drawn: that of its level's row, of two levels 0 or 1, else its own. */
export function height(variable, value) {
  if (!hasLevels(variable)) return Number(value);
  const k = levelOf(variable, value);
  return isBinary(variable) ? k : (k + 0.5) / variable.levels.length;
}

/** The value that belongs to a height: a level, a whole number, or as precise as the panel is tall. */
export function valueAt(variable, place, [low, high]) {
  if (isBinary(variable)) return variable.levels[place > 0.5 ? 1 : 0];
  if (hasLevels(variable)) {
    const k = Math.floor(place * variable.levels.length);
    return variable.levels[Math.min(Math.max(k, 0), variable.levels.length - 1)];
  }
  if (isCount(variable)) return Math.max(0, Math.round(place));
  if (isLog(variable)) return Number((10 ** place).toPrecision(3));
  const unit = 10 ** Math.floor(Math.log10((high - low) / 100));
  return Number((Math.round(place / unit) * unit).toPrecision(12));
}

/** A value on the scale of its axis. */
export const onAxis = (variable, value) => (isLog(variable) ? Math.log10(height(variable, value))
  : height(variable, value));
