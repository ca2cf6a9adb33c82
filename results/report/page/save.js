// A chart with its legend as an SVG file

function standalone(figure) { // the chart with its style, on white, above the legend of its lines
  const drawn = [...figure.querySelectorAll("svg")].find((svg) => svg.getClientRects().length), chart = drawn.cloneNode(true);
  const { width, height } = drawn.viewBox.baseVal;
  const methods = [...new Set([...chart.querySelectorAll("g[class^=m]")].map((g) => +g.getAttribute("class").match(/m(\d+)/)[1]))];
  const columns = Math.max(1, Math.min(3, Math.floor(width / 140))), lines = Math.ceil(methods.length / columns);
  const total = height + 18 * lines + (lines ? 10 : 0);
  const sheet = element("svg", { width, height: total, viewBox: `0 0 ${width} ${total}`, color: "#000", "font-family": "system-ui, 'DejaVu Sans', Arial, sans-serif" });
  const css = document.querySelector("style").textContent, start = css.indexOf(".chart text, .key text");
  const style = element("style");
  style.textContent = css.slice(start, css.indexOf("@media", start));
  sheet.append(style, element("rect", { width, height: total, fill: "#fff" }), chart);
  if (methods.length) sheet.append(document.querySelector(".definitions defs").cloneNode(true));
  for (const [name, size] of [["width", width], ["height", height]]) chart.setAttribute(name, size);
  chart.classList.remove("pointed");
  methods.forEach((method, i) => {
    const x = 8 + (i % columns) * width / columns, y = height + 6 + 18 * Math.floor(i / columns);
    const entry = element("g", { class: "key", transform: `translate(${x},${y})` }), label = element("text", { x: 36, y: 10 });
    label.textContent = names[method];
    entry.append(...document.querySelector(`.legend [data-method="${method}"] svg`).cloneNode(true).childNodes, label);
    sheet.append(entry);
  });
  return { width, height: total, name: named(figure), text: new XMLSerializer().serializeToString(sheet) };
}

function named(figure) { // its own name, or that of its section and its place there
  const section = figure.closest("section"), place = section ? [...section.querySelectorAll("figure")].indexOf(figure) + 1 : 0;
  return figure.id || `${section?.id || "chart"}${place ? `-${place}` : ""}`;
}

function element(name, attributes = {}) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function download(name, address) {
  const link = document.createElement("a");
  link.download = name;
  link.href = address;
  link.click();
}

function address(file) {
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(file.text)}`;
}

for (const figure of document.querySelectorAll("main figure")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tools";
  button.textContent = "SVG";
  button.title = "Save this chart with its legend";
  button.addEventListener("click", () => { const file = standalone(figure); download(`${file.name}.svg`, address(file)); });
  figure.querySelector("figcaption").append(button);
}
