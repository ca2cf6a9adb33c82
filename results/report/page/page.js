"use strict";
// Draws every chart of the page from the numbers in #data, and names method and value under the pointer.
const { methods, panels } = JSON.parse(document.getElementById("data").textContent);
const tip = document.getElementById("tip");
const WIDTH = 420, HEIGHT = 270, LEFT = 54, RIGHT = 12, TOP = 26, BOTTOM = 40;

const MARKERS = {
  "o": "M-3,0a3,3 0 1,0 6,0a3,3 0 1,0 -6,0z", "s": "M-3,-3h6v6h-6z", "^": "M0,-3.6L3.4,2.6H-3.4z",
  "D": "M0,-3.8L3.2,0L0,3.8L-3.2,0z", "v": "M0,3.6L3.4,-2.6H-3.4z",
  "P": "M-1.2,-3.6h2.4v2.4h2.4v2.4h-2.4v2.4h-2.4v-2.4h-2.4v-2.4h2.4z",
  "X": "M-3.4,-2L-2,-3.4L0,-1.4L2,-3.4L3.4,-2L1.4,0L3.4,2L2,3.4L0,1.4L-2,3.4L-3.4,2L-1.4,0z",
  "*": "M0,-4L1,-1.2H4L1.6,.6L2.5,3.5L0,1.7L-2.5,3.5L-1.6,.6L-4,-1.2H-1z",
};
// Black is a colour of the palette; on a dark page it must be light.
const colour = (method) => (method.colour === "#000000" ? "var(--ink)" : method.colour);
const escaped = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const shown = (value) => (Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3)
  ? value.toExponential(3) : String(Number(value.toPrecision(5))));

function ticks(low, high, log) {
  if (log) {
    const found = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) found.push(10 ** e);
    const inside = found.filter((t) => t >= low * 0.999 && t <= high * 1.001);
    return inside.length > 1 ? inside.filter((_, i) => i % Math.ceil(inside.length / 6) === 0) : [low, high];
  }
  const raw = (high - low) / 4, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const found = [];
  const first = Math.ceil(low / step - 1e-9);
  for (let i = 0; i < 12 && (first + i) * step <= high + 1e-9 * step; i++) found.push((first + i) * step);
  return found;
}

function scales(panel) {
  const [low, high] = panel.limits, xs = panel.x, span = xs[xs.length - 1] - xs[0] || 1;
  const f = panel.log ? Math.log10 : (v) => v;
  const share = (v) => (f(v) - f(low)) / (f(high) - f(low) || 1);
  return {
    x: (v) => LEFT + (v - xs[0]) / span * (WIDTH - LEFT - RIGHT),
    y: (v) => TOP + (panel.flip ? share(v) : 1 - share(v)) * (HEIGHT - TOP - BOTTOM),
  };
}

const clip = (y) => Math.max(-50, Math.min(HEIGHT + 50, y)).toFixed(1);

function line(panel, values, { x, y }) {
  let path = "", pen = false;
  values.forEach((v, i) => {
    if (v === null) { pen = false; return; }
    path += `${pen ? "L" : "M"}${x(panel.x[i]).toFixed(1)},${clip(y(v))}`;
    pen = true;
  });
  return path;
}

function band(panel, series, { x, y }) {
  const known = panel.x.map((_, i) => i).filter((i) => series.low[i] !== null);
  if (known.length < 2) return "";
  const up = known.map((i) => `${x(panel.x[i]).toFixed(1)},${clip(y(series.high[i]))}`);
  const down = known.reverse().map((i) => `${x(panel.x[i]).toFixed(1)},${clip(y(series.low[i]))}`);
  return `M${up.concat(down).join("L")}z`;
}

function draw(figure, panel) {
  const s = scales(panel), id = `clip-${figure.dataset.panel}`;
  const parts = [`<defs><clipPath id="${id}"><rect x="${LEFT}" y="${TOP - 4}" width="${WIDTH - LEFT - RIGHT + 5}"
    height="${HEIGHT - TOP - BOTTOM + 8}"/></clipPath></defs>`];
  for (const t of ticks(...panel.limits, panel.log)) {
    const y = s.y(t).toFixed(1);
    parts.push(`<path class="axis" d="M${LEFT},${y}H${WIDTH - RIGHT}"/>`);
    parts.push(`<text x="${LEFT - 5}" y="${y}" dy=".35em" text-anchor="end">${shown(t)}</text>`);
  }
  for (const t of ticks(panel.x[0], panel.x[panel.x.length - 1], false)) {
    parts.push(`<text x="${s.x(t).toFixed(1)}" y="${HEIGHT - BOTTOM + 15}" text-anchor="middle">${shown(t)}</text>`);
  }
  if (panel.reference !== null) {
    const y = s.y(panel.reference).toFixed(1);
    parts.push(`<path class="axis reference" d="M${LEFT},${y}H${WIDTH - RIGHT}"/>`);
  }
  parts.push(`<g clip-path="url(#${id})">`);
  panel.series.forEach((series, i) => {
    const own = methods[series.method], ink = colour(own);
    parts.push(`<g class="series" data-series="${i}">`);
    if (series.low) parts.push(`<path class="band" style="fill:${ink}" d="${band(panel, series, s)}"/>`);
    parts.push(`<path style="stroke:${ink}" d="${line(panel, series.y, s)}"/>`);
    const every = Math.max(1, Math.floor(panel.x.length / 5));
    series.y.forEach((v, j) => {
      if (v === null || j % every) return;
      parts.push(`<path style="fill:${ink}" d="${MARKERS[own.marker]}"
        transform="translate(${s.x(panel.x[j]).toFixed(1)},${clip(s.y(v))})"/>`);
    });
    parts.push("</g>");
  });
  parts.push("</g>");
  parts.push(`<text class="title" x="${LEFT}" y="13">${escaped(panel.title)}</text>`);
  parts.push(`<text x="${(LEFT + WIDTH) / 2}" y="${HEIGHT - 6}" text-anchor="middle">${escaped(panel.xlabel)}</text>`);
  parts.push(`<text transform="translate(11,${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"
    text-anchor="middle">${escaped(panel.ylabel)}</text>`);
  const names = panel.series.map((series) => methods[series.method].name).join(", ");
  figure.innerHTML = `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img"
    aria-label="${escaped(`${panel.title}: ${panel.ylabel} of ${names}`)}">${parts.join("")}</svg>`;
  figure.addEventListener("pointermove", (event) => point(event, figure, panel, s));
  figure.addEventListener("pointerleave", () => leave(figure));
}

function point(event, figure, panel, s) {
  const box = figure.querySelector("svg").getBoundingClientRect();
  const px = (event.clientX - box.left) / box.width * WIDTH, py = (event.clientY - box.top) / box.height * HEIGHT;
  let at = 0;
  panel.x.forEach((v, i) => { if (Math.abs(s.x(v) - px) < Math.abs(s.x(panel.x[at]) - px)) at = i; });
  let nearest = -1, distance = Infinity;
  panel.series.forEach((series, i) => {
    const v = series.y[at];
    if (v !== null && Math.abs(s.y(v) - py) < distance) { nearest = i; distance = Math.abs(s.y(v) - py); }
  });
  if (nearest < 0) return leave(figure);
  figure.querySelectorAll(".series").forEach((g, i) => g.classList.toggle("dim", i !== nearest));
  const series = panel.series[nearest];
  const range = series.low && series.low[at] !== null ? ` (quartiles ${shown(series.low[at])} to ${shown(series.high[at])})` : "";
  tip.textContent = `${methods[series.method].name}: ${shown(series.y[at])}${range} at ${shown(panel.x[at])} ${panel.xlabel}`;
  tip.hidden = false;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${event.clientY + 16}px`;
}

function leave(figure) {
  tip.hidden = true;
  figure.querySelectorAll(".series").forEach((g) => g.classList.remove("dim"));
}

document.querySelectorAll("figure[data-panel]").forEach((figure) => draw(figure, panels[figure.dataset.panel]));
document.querySelectorAll(".legend").forEach((legend) => {
  legend.innerHTML = methods.map((m) => `<span><svg width="22" height="10" viewBox="-11 -5 22 10">
    <path d="M-11,0H11" stroke="${colour(m)}" stroke-width="1.8"/>
    <path d="${MARKERS[m.marker]}" style="fill:${colour(m)}"/></svg>${escaped(m.name)}</span>`).join("");
});
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
