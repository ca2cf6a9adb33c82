"use strict";
// Enhances what the page already shows: values under the pointer, methods that stand out, filters, sorted tables.
const names = JSON.parse(document.getElementById("names").textContent);
const tip = document.getElementById("tip");
const LEFT = 56, RIGHT = 408, TOP = 26, BOTTOM = 230, FINE = 10; // the window of a chart, as display/svg.py draws it

// Values under the pointer

function points(path) {
  const found = [];
  let x = 0, y = 0, stretch = [];
  for (const [, command, first, second] of path.getAttribute("d").matchAll(/([Mlhz])(-?\d+)?,?(-?\d+)?/g)) {
    if (command === "M") { stretch = []; found.push(stretch); x = +first; y = +second; }
    else if (command === "l") { x += +first; y += +second; }
    else if (command === "h") x += +first;
    else continue;
    stretch.push([x / FINE, y / FINE]);
  }
  return found;
}

function crossings(stretches, x) {
  const found = [];
  for (const stretch of stretches) {
    for (let i = 1; i < stretch.length; i++) {
      const [[x0, y0], [x1, y1]] = [stretch[i - 1], stretch[i]];
      if (x >= Math.min(x0, x1) && x <= Math.max(x0, x1)) found.push(x0 === x1 ? y1 : y0 + (x - x0) / (x1 - x0) * (y1 - y0));
    }
  }
  return found;
}

function value(svg, y) { // as exactly as it was drawn
  const { y0, y1, log } = svg.dataset, share = (BOTTOM - y) / (BOTTOM - TOP);
  const step = 2 * Math.abs(y1 - y0) / FINE / (BOTTOM - TOP);
  if (log === "1") return Number((+y0 * (y1 / y0) ** share).toPrecision(3)).toString();
  return (+y0 + share * (y1 - y0)).toFixed(Math.max(0, Math.min(8, -Math.ceil(Math.log10(step || 1)))));
}

function point(event, svg, lines) {
  const box = svg.getBoundingClientRect();
  const x = Math.max(LEFT, Math.min(RIGHT, (event.clientX - box.left) / box.width * 420));
  const y = (event.clientY - box.top) / box.height * 270;
  let nearest = null, distance = Infinity;
  for (const line of lines) {
    for (const at of crossings(line.stretches, x)) {
      if (Math.abs(at - y) < distance) { nearest = { line, at }; distance = Math.abs(at - y); }
    }
  }
  if (!nearest) return leave(svg);
  const { method } = nearest.line, { x0, x1, xlog, unit } = svg.dataset;
  const band = svg.querySelector(`.m${method} .band`), ends = band ? crossings(points(band), x) : [];
  const range = ends.length > 1 ? ` (band ${[Math.max(...ends), Math.min(...ends)].map((end) => value(svg, end)).join(" to ")})` : "";
  const share = (x - LEFT) / (RIGHT - LEFT), at = xlog === "1" ? x0 * (x1 / x0) ** share : +x0 + share * (x1 - x0);
  tip.textContent = `${names[method]}: ${value(svg, nearest.at)}${range} at ${Number(at.toPrecision(3))} ${unit}`;
  tip.hidden = false;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${event.clientY + 16}px`;
  svg.classList.add("pointed");
  for (const group of svg.querySelectorAll("[class^=m]")) group.classList.toggle("near", group.classList.contains(`m${method}`));
}

function leave(svg) {
  tip.hidden = true;
  svg.classList.remove("pointed");
}

for (const svg of document.querySelectorAll("svg.chart")) {
  let lines = null;
  svg.addEventListener("pointermove", (event) => {
    lines ??= [...svg.querySelectorAll("path.line")].map((path) => ({
      method: path.parentNode.getAttribute("class").match(/m(\d+)/)[1], stretches: points(path),
    }));
    point(event, svg, lines);
  });
  svg.addEventListener("pointerleave", () => leave(svg));
  const { bench, constraint } = svg.closest("figure").dataset;
  if (!bench || !document.getElementById("runs-data")) continue;
  svg.classList.add("leads");
  svg.addEventListener("click", (event) => {
    svg.dispatchEvent(new PointerEvent("pointermove", event)); // a touch has not moved
    const near = svg.querySelector(".near");
    if (near) dispatchEvent(new CustomEvent("run-chosen", { detail: { method: near.getAttribute("class").match(/m(\d+)/)[1], bench, constraint } }));
  });
}

// Methods that stand out: by a click, or Enter or space, on any legend

const lit = new Set();
for (const button of document.querySelectorAll(".legend button")) {
  button.addEventListener("click", () => {
    const { method } = button.dataset;
    if (!lit.delete(method)) lit.add(method);
    document.body.className = lit.size ? ["lit", ...[...lit].map((m) => `lit${m}`)].join(" ") : "";
    for (const other of document.querySelectorAll(".legend button")) other.setAttribute("aria-pressed", lit.has(other.dataset.method));
  });
}

// The page's filter: every form shows the same choice, which holds for charts, and for rows of tables

const forms = [...document.querySelectorAll(".filters")];
const charts = [...document.querySelectorAll("figure[data-bench]")];
const rows = []; // each with its benchmark and constraint, as far as its table has them
for (const table of document.querySelectorAll("main table")) {
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const columns = ["benchmark", "constraint", "family"].map((name) => heads.indexOf(name));
  if (columns[0] < 0) continue;
  for (const row of table.tBodies[0].rows) {
    const [bench, constraint, family] = columns.map((column) => row.cells[column]?.textContent);
    rows.push({ element: row, facts: { bench, constraint, family } });
  }
}
const familyOf = Object.fromEntries(charts.map((chart) => [chart.dataset.bench, chart.dataset.family]));

function filter(form) {
  const wanted = [...form.querySelectorAll("select")].map((select) => [select.dataset.key, select.value]);
  for (const other of forms) {
    for (const [key, value] of wanted) { const own = other.querySelector(`[data-key=${key}]`); if (own) own.value = value; }
  }
  const fits = (facts) => wanted.every(([key, value]) => !value || facts[key] === undefined || facts[key] === value);
  for (const { element, facts } of rows) element.hidden = !fits({ ...facts, family: facts.family ?? familyOf[facts.bench] });
  for (const chart of charts) chart.hidden = !fits(chart.dataset);
  for (const group of document.querySelectorAll("details.family")) {
    const shown = group.querySelectorAll("figure:not([hidden])").length;
    group.hidden = !shown;
    group.open = wanted.some(([, value]) => value) && shown > 0;
  }
  for (const other of forms) {
    const own = [...other.parentNode.querySelectorAll("figure[data-bench]")];
    other.querySelector("output").textContent = `${own.filter((chart) => !chart.hidden).length} of ${own.length} settings`;
  }
}
for (const form of forms) {
  form.hidden = false;
  form.addEventListener("change", () => filter(form));
  form.addEventListener("submit", (event) => event.preventDefault());
}
if (forms.length) filter(forms[0]);

function reveal() { // what a link leads to, where a filter or a fold hides it
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  target.hidden = false;
  const folds = [target.querySelector(":scope > details")];
  for (let fold = target.closest("details"); fold; fold = fold.parentNode.closest("details")) folds.push(fold);
  for (const fold of folds) if (fold) { fold.hidden = false; fold.open = true; }
  target.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();

// Tables sort by the column whose head is clicked

const sorted = (cell) => {
  const text = cell.textContent.trim().replace("−", "-"), number = parseFloat(text.replace(/^[^\d.-]*/, ""));
  return text === "-" || text === "" ? Infinity : Number.isNaN(number) || cell.classList.contains("text") ? text : number;
};
for (const table of document.querySelectorAll("main table")) {
  const heads = [...table.querySelectorAll("th")], body = table.tBodies[0];
  if (body.rows.length < 3) continue;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", way === 1 ? "ascending" : "descending");
      const rows = [...body.rows].map((row) => [sorted(row.cells[column]), row]);
      rows.sort(([a], [b]) => way * (typeof a === typeof b && typeof a === "number" ? (a > b) - (a < b) : String(a).localeCompare(String(b))));
      body.append(...rows.map(([, row]) => row));
    });
  });
}

// The contents show the section in sight; tables that are cut say so and can be scrolled by keys

const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
const sight = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    for (const link of links.values()) link.removeAttribute("aria-current");
    const link = links.get(target.id);
    link.setAttribute("aria-current", "true");
    link.closest("ol").scrollTo({ left: link.offsetLeft - 40 });
  }
}, { rootMargin: "-60px 0px -80% 0px" });
for (const id of links.keys()) { const section = document.getElementById(id); if (section) sight.observe(section); }
function measure() {
  for (const area of document.querySelectorAll(".scroll, .diagram")) {
    const isWide = area.scrollWidth > area.clientWidth + 1;
    area.classList.toggle("wide", isWide);
    if (isWide) area.tabIndex = 0;
    else area.removeAttribute("tabindex");
  }
}
addEventListener("resize", measure);
document.addEventListener("toggle", measure, true);
measure();
