"use strict";
// From a method to a run: every seed of a method on a benchmark, then one seed's evaluations and configurations.
{
const data = JSON.parse(document.getElementById("runs-data").textContent);
const section = document.getElementById("runs"), form = section.querySelector("form");
const [method, bench, constraint] = ["method", "bench", "constraint"].map((name) => form.elements[name]);
const seeds = section.querySelector(".seeds"), figure = section.querySelector("figure"), output = section.querySelector(".run");
const caption = figure.querySelector("figcaption");
const lines = make("span", "Thick line: its incumbent; thin lines: the other seeds. ");
const X0 = 56, X1 = 668, Y0 = 26, Y1 = 250, MOST = 1000; // the window in pixels; rows of a table
let chosen = null;

function make(tag, text = "", facts = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  return Object.assign(made, facts);
}

function fill(select, options, labels = options) {
  const before = select.value;
  select.replaceChildren(...options.map((value, i) => make("option", labels[i], { value })));
  if (options.map(String).includes(before)) select.value = before;
}

const distinct = (key, setups) => [...new Set(setups.map((setup) => setup[key]))];
const fitting = (...keys) => data.setups.filter((setup) => keys.every(([key, value]) => String(setup[key]) === value));

function choose(seed = null) {
  const numbers = distinct("method", data.setups);
  fill(method, numbers, numbers.map((number) => data.methods[number]));
  fill(bench, distinct("bench", fitting(["method", method.value])));
  fill(constraint, distinct("constraint", fitting(["method", method.value], ["bench", bench.value])));
  const setups = fitting(["method", method.value], ["bench", bench.value], ["constraint", constraint.value]);
  const runs = setups.flatMap(listed).sort((a, b) => a.seed - b.seed).filter((run, i, all) => run.seed !== all[i - 1]?.seed);
  chosen = runs.find((run) => run.seed === seed) ?? runs[0];
  seeds.replaceChildren(...runs.map((run) => {
    const button = make("button", String(run.seed), { type: "button" });
    button.setAttribute("aria-pressed", run === chosen);
    button.addEventListener("click", () => { choose(run.seed); seeds.querySelector("[aria-pressed=true]").focus(); });
    return button;
  }));
  show(runs);
}

function listed(setup) { // the runs of a setup, with their evaluations if the page holds them
  let start = 0;
  return setup.seeds.map((seed, i) => {
    const from = start, to = setup.rows ? (start += setup.rows[i]) : 0;
    if (!setup.rows) return { setup, seed, evaluations: null };
    const steps = setup.steps.filter((row) => row >= from && row < to).map((row) => row - from);
    const evaluations = Array.from({ length: to - from }, (_, j) => ({
      number: j + 1, y: setup.y[from + j], ok: setup.ok[from + j] === "1", t: setup.t[from + j],
      level: setup.level?.[from + j], configuration: configuration(setup.bench, setup.c[from + j]),
    }));
    return { setup, seed, evaluations, steps };
  });
}

function configuration(bench, number) {
  const { items, configurations } = data.spaces[bench];
  return configurations[number].map((item) => JSON.parse(items[item]));
}

const plain = (value) => typeof value === "string" ? value : JSON.stringify(value);
const quoted = (text) => /^[\w@.:=,+/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

function show(runs) {
  const { setup, seed } = chosen;
  const constrained = setup.constraint === "none" ? "none" : setup.constraint;
  const words = ["nasbench show-run", ...[setup.store, setup.spec, setup.bench, String(seed)].map(quoted), "--constrain", quoted(constrained), "--page run.html"];
  const command = make("code", words.join(" "));
  const title = `${data.methods[setup.method]} on ${setup.bench}, ${constrained === "none" ? "no constraint" : constrained}, seed ${seed}`;
  output.replaceChildren(make("h3", title));
  figure.hidden = !chosen.evaluations;
  if (!chosen.evaluations) {
    const note = make("p", "These runs are too many for a page; this command writes a page of this run: ", { className: "note" });
    note.append(command);
    output.append(note);
    return;
  }
  lines.hidden = setup.several;
  figure.querySelector("svg")?.remove();
  figure.prepend(drawn(runs, title));
  const steps = chosen.steps.map((row) => chosen.evaluations[row]);
  if (!setup.several) output.append(make("h3", steps.length ? "Steps of the incumbent" : "Nothing feasible was found"), area(table(steps, setup.objective)));
  const all = make("details");
  const count = chosen.evaluations.length;
  all.append(make("summary", count > MOST ? `The first ${MOST} of ${count} evaluations` : `All ${count} evaluations`));
  all.addEventListener("toggle", () => { if (all.childElementCount < 2) all.append(area(table(chosen.evaluations.slice(0, MOST), setup.objective))); });
  output.append(all);
}

function area(content) {
  const made = make("div", "", { className: "scroll", tabIndex: 0 });
  made.append(content);
  return made;
}

function table(evaluations, objective) {
  const keys = [...new Set(evaluations.flatMap((own) => own.configuration.map(([key]) => key)))];
  const hasLevels = evaluations.some((own) => own.level !== undefined);
  const made = make("table"), head = made.createTHead().insertRow(), body = made.createTBody();
  made.setAttribute("aria-label", "Evaluations of the run");
  for (const name of ["evaluation", "seconds", objective, "feasible", ...(hasLevels ? ["level"] : []), ...keys]) {
    const cell = make("th", name);
    cell.scope = "col";
    head.append(cell);
  }
  for (const own of evaluations) {
    const row = body.insertRow(), known = new Map(own.configuration);
    const facts = [own.number, Number((own.t ?? NaN).toPrecision(4)), own.y ?? "failed", own.ok ? "yes" : "no", ...(hasLevels ? [own.level] : [])];
    for (const value of facts) row.insertCell().textContent = value;
    for (const key of keys) row.insertCell().textContent = known.has(key) ? plain(known.get(key)) : "-";
  }
  return made;
}

// The chart: a thin line for each seed's incumbent, a thick one for the chosen seed, and a dot for each of its evaluations

function drawn(runs, title) {
  const last = Math.max(2, ...runs.map((run) => run.evaluations.length)), early = Math.ceil(last / 20);
  const lines = runs.map((run) => ({ run, values: run.steps.map((row) => run.evaluations[row]) }));
  const values = lines.flatMap(({ values: own }) => own.filter((step, i) => step.number >= early || i === own.length - 1).map((step) => step.y));
  const seen = values.length ? values : chosen.evaluations.map((own) => own.y).filter((y) => y !== null);
  const low = Math.min(...seen), high = Math.max(...seen), margin = 0.1 * (high - low) || Math.abs(low) * 0.05 || 1;
  const [bottom, top] = [low - margin, high + 3 * margin];
  const x = (number) => X0 + (number - 1) / (last - 1) * (X1 - X0);
  const y = (value) => Math.max(Y0, Math.min(Y1, Y1 - (value - bottom) / (top - bottom) * (Y1 - Y0)));
  const svg = node("svg", { class: "chart", viewBox: "0 0 680 290", role: "img", "aria-label": `${title}: ${chosen.setup.objective} of every evaluation` });
  for (const tick of ticks(bottom, top)) svg.append(node("path", { class: "axis", d: `M${X0},${y(tick)}H${X1}` }), node("text", { x: X0 - 5, y: y(tick), dy: ".35em", "text-anchor": "end" }, String(tick)));
  for (const tick of ticks(1, last)) svg.append(node("text", { x: x(tick), y: Y1 + 15, "text-anchor": "middle" }, String(tick)));
  svg.append(node("text", { class: "title", x: X0, y: 14 }, title), node("text", { x: (X0 + X1) / 2, y: 284, "text-anchor": "middle" }, "evaluations"));
  svg.append(node("text", { transform: `translate(11,${(Y0 + Y1) / 2}) rotate(-90)`, "text-anchor": "middle" }, chosen.setup.objective));
  const group = node("g", { class: `m${chosen.setup.method}` });
  for (const { run, values: own } of lines) {
    if (!own.length) continue;
    const path = `M${x(own[0].number)},${y(own[0].y)}` + own.slice(1).map((step) => `H${x(step.number)}V${y(step.y)}`).join("") + `H${x(run.evaluations.length)}`;
    group.append(node("path", { class: run === chosen ? "run-line" : "run-line other", d: path }));
  }
  for (const own of chosen.evaluations) {
    if (own.y === null) continue;
    const dot = node("circle", { class: own.ok ? "dot" : "dot infeasible", cx: x(own.number), cy: y(own.y), r: 3 });
    dot.append(node("title", {}, `evaluation ${own.number}: ${own.y}${own.ok ? "" : ", infeasible"}; ${own.configuration.map(([key, value]) => `${key} ${plain(value)}`).join(", ")}`));
    group.append(dot);
  }
  svg.append(group);
  return svg;
}

function node(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function ticks(low, high) {
  const raw = (high - low) / 4, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find((m) => m * power >= raw) * power;
  return Array.from({ length: Math.floor(high / step) - Math.ceil(low / step) + 1 }, (_, i) => Number(((Math.ceil(low / step) + i) * step).toPrecision(6)));
}

form.hidden = false;
form.addEventListener("change", () => choose());
form.addEventListener("submit", (event) => event.preventDefault());
caption.append("Dots: the chosen seed's evaluations, hollow if infeasible; those beyond the axis lie on its edge. ", lines);
addEventListener("run-chosen", ({ detail }) => { // a click on a line of a chart
  if (fitting(["method", detail.method], ["bench", detail.bench], ["constraint", detail.constraint]).length) {
    for (const [select, value] of [[method, detail.method], [bench, detail.bench], [constraint, detail.constraint]]) { select.value = value; choose(); }
  } else {
    const title = `${data.methods[detail.method]} on ${detail.bench}, ${detail.constraint === "none" ? "no constraint" : detail.constraint}`;
    figure.hidden = true;
    seeds.replaceChildren();
    output.replaceChildren(make("h3", title), make("p", "These runs are of an archive, which keeps no single evaluations.", { className: "note" }));
  }
  section.scrollIntoView();
});
choose(Number(section.dataset.seed ?? NaN));
}
