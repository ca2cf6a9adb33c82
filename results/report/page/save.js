// A chart as a link, or a file: SVG and PNG with its legend, and PDF by the browser's own printing

const SCALE = 2; // pixels of a PNG per pixel of the page

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

async function pixels(file) {
  const image = new Image();
  image.src = address(file);
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [SCALE * file.width, SCALE * file.height];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}

async function paper(figure) { // prints one page of the chart's size, which the browser saves as PDF
  const file = standalone(figure), sheet = document.styleSheets[0], box = document.createElement("div"), image = new Image();
  image.src = address(file);
  await image.decode();
  box.className = "printed";
  box.append(image);
  document.body.append(box);
  document.body.classList.add("one");
  const rule = sheet.insertRule(`@page { size: ${Math.ceil(file.width) + 20}px ${Math.ceil(file.height) + 20}px; margin: 10px; }`, sheet.cssRules.length);
  addEventListener("afterprint", () => {
    sheet.deleteRule(rule);
    document.body.classList.remove("one");
    box.remove();
  }, { once: true });
  window.print();
}

const ACTIONS = {
  Link: (figure) => navigator.clipboard.writeText(location.href.replace(/#.*/, "") + `#${figure.id}`),
  SVG: (figure) => { const file = standalone(figure); download(`${file.name}.svg`, address(file)); },
  PNG: async (figure) => { const file = standalone(figure); download(`${file.name}.png`, (await pixels(file)).toDataURL()); },
  Copy: async (figure) => {
    const canvas = await pixels(standalone(figure));
    canvas.toBlob((blob) => navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]));
  },
  PDF: paper,
};
for (const figure of document.querySelectorAll("main figure")) {
  const tools = document.createElement("span");
  tools.className = "tools";
  for (const [label, act] of Object.entries(ACTIONS)) {
    if (label === "Link" && !figure.id) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.title = { Link: "Copy a link to this chart", Copy: "Copy as a picture", PDF: "Print this chart, or save it as PDF" }[label] ?? `Save as ${label}`;
    button.addEventListener("click", () => act(figure));
    tools.append(button);
  }
  figure.querySelector("figcaption").append(tools);
}
