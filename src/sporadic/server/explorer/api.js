// The service. Every failure becomes a Failure with a sentence for the reader.

const TOKEN = "sporadic-token";

export class Failure extends Error {
  /** `status` is that of HTTP; 0 where nothing answered. */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const keepToken = (token) => sessionStorage.setItem(TOKEN, token);
export const hasToken = () => Boolean(sessionStorage.getItem(TOKEN));

async function ask(path, query = {}, body = undefined) {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    for (const each of [value].flat()) fields.append(name, each);
  }
  const headers = {};
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const text = fields.toString();
  let response;
  try {
    response = await fetch(text ? `${path}?${text}` : path, {
      method: body === undefined ? "GET" : "POST",
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Failure(0, "The service does not answer. Is `sporadic serve` still running?");
  }
  let answer = null;
  try {
    answer = await response.json();
  } catch {
    if (response.ok) throw new Failure(0, "The service broke off in the middle of an answer.");
  }
  if (!response.ok) throw new Failure(response.status, sentence(response.status, answer));
  return answer;
}

function sentence(status, answer) {
  const detail = answer?.detail;
  if (typeof detail === "string" && detail) return detail;
  if (Array.isArray(detail) && detail[0]?.msg) return `The service refused this: ${detail[0].msg}.`;
  if (status >= 500) return `The service failed (${status}). Its log may say why.`;
  return `The service refused this (${status}).`;
}

export const model = () => ask("/model");
export const series = (search, limit, offset) => ask("/series", { search, limit, offset });
export const observations = (id) => ask("/observations", { id });
export const path = (id, { until, horizon, steps, levels }) =>
  ask("/path", { id, until, horizon, steps, level: levels });
export const whatIf = (id, observations, { until, horizon, steps, levels }) =>
  ask("/what-if", {}, { id, observations, until, horizon, steps, levels });
export const calibration = () => ask("/calibration");
