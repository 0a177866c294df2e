// A quick hand: draws the traces of the figure on a canvas in a few milliseconds, where Plotly needs a tenth of a
// second or more. It stands in for Plotly's own drawing while something moves, and knows only what our traces use.

import { byId } from "./text.js";
import { isLog } from "./kinds.js";

export function sketch(traces, arranged, geometry) {
  const canvas = byId("sketch");
  const scale = window.devicePixelRatio || 1;
  const [width, height] = [Math.round(geometry.width * scale), Math.round(geometry.height * scale)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, geometry.width, geometry.height);
  let row = -1;
  let below = null; // the line before, on which "tonexty" stands
  for (const trace of traces) {
    const own = trace.yaxis === "y" ? 0 : Number(trace.yaxis.slice(1)) - 1;
    if (own !== row) [row, below] = [own, null];
    const points = place(trace, row, geometry);
    pen.save();
    if (trace.mode === "lines") clip(pen, row, geometry);
    if (trace.mode === "lines") stroke(pen, trace, points, below, geometry, row);
    else mark(pen, trace, points);
    pen.restore();
    if (trace.fill?.startsWith("to") && trace.fill !== "toself") below = points;
  }
  surround(pen, arranged, geometry);
  document.body.classList.add("sketching");
}

export const erase = () => document.body.classList.remove("sketching");

function place({ x, y }, row, geometry) {
  const log = isLog(geometry.variables[row]);
  const [low, high] = geometry.ranges[row];
  const bottom = geometry.top(row) + geometry.rowHeight;
  const unit = geometry.rowHeight / (high - low);
  return x.map((time, i) =>
    time === null || y[i] === null || y[i] === undefined
      ? null
      : [geometry.x(time), bottom - ((log ? Math.log10(y[i]) : y[i]) - low) * unit]);
}

function clip(pen, row, geometry) {
  pen.beginPath();
  pen.rect(geometry.margin.l, geometry.top(row), geometry.plotWidth, geometry.rowHeight);
  pen.clip();
}

function follow(pen, points) {
  let down = false;
  for (const point of points) {
    if (point === null) down = false;
    else {
      if (down) pen.lineTo(...point);
      else pen.moveTo(...point);
      down = true;
    }
  }
}

function stroke(pen, { fill, fillcolor, line }, points, below, geometry, row) {
  if (fill && points.length) {
    pen.beginPath();
    follow(pen, points);
    if (fill !== "toself") {
      const floor = geometry.top(row) + geometry.rowHeight * (1
        + geometry.ranges[row][0] / (geometry.ranges[row][1] - geometry.ranges[row][0]));
      const back = below ?? [[points[0][0], floor], [points.at(-1)[0], floor]];
      for (const point of back.toReversed()) pen.lineTo(...point);
    }
    pen.closePath();
    pen.fillStyle = fillcolor;
    pen.fill();
  }
  if (!line.width) return;
  pen.beginPath();
  pen.setLineDash(line.dash ? line.dash.split(",").map((length) => parseFloat(length)) : []);
  pen.strokeStyle = line.color;
  pen.lineWidth = line.width;
  pen.lineJoin = "round";
  follow(pen, points);
  pen.stroke();
}

const each = (option, i) => (Array.isArray(option) ? option[i] : option);

function mark(pen, { marker }, points) {
  points.forEach((point, i) => {
    if (point === null) return;
    pen.beginPath();
    if (marker.symbol === "diamond") {
      const reach = (marker.size / 2) * 1.3;
      for (const [right, down] of [[0, -1], [1, 0], [0, 1], [-1, 0]]) pen.lineTo(point[0] + right * reach, point[1]
        + down * reach);
      pen.closePath();
    } else pen.arc(...point, marker.size / 2, 0, 2 * Math.PI);
    pen.fillStyle = each(marker.color, i);
    pen.fill();
    pen.strokeStyle = each(marker.line.color, i);
    pen.lineWidth = each(marker.line.width, i);
    pen.stroke();
  });
}

/** The shade over the future, and the notes in the corners. */
function surround(pen, { shapes, annotations, font }, geometry) {
  const whole = geometry.height - geometry.margin.t - geometry.margin.b;
  for (const { x0, x1, fillcolor } of shapes) {
    pen.fillStyle = fillcolor;
    pen.fillRect(geometry.x(x0), geometry.margin.t, geometry.x(x1) - geometry.x(x0), whole);
  }
  pen.textAlign = "right";
  for (const note of annotations) {
    pen.font = `${note.font.size}px ${font.family}`;
    pen.fillStyle = note.font.color;
    pen.fillText(note.text, geometry.margin.l + geometry.plotWidth - 1, geometry.margin.t + (1 - note.y) * whole - 1);
  }
}
