// Random search in Node.js: it reads a line of JSON, and answers it with one.
const lines = require("readline").createInterface({ input: process.stdin });
let space, state;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
const value = (h) => {
  if (h.values) return h.values[Math.floor(random() * h.values.length)];
  const [low, high] = h.log ? [Math.log(h.low), Math.log(h.high)] : [h.low, h.high];
  const x = low + random() * (high - low), v = h.log ? Math.exp(x) : x;
  return h.kind === "integer" ? Math.round(v) : Math.min(Math.max(v, h.low), h.high);
};
lines.on("line", (line) => {
  const message = JSON.parse(line);
  if (message.hello) { space = message.hello.space; state = message.hello.seed + 1; }
  const configuration = () => Object.fromEntries(space.map((h) => [h.name, value(h)]));
  console.log(JSON.stringify(message.ask ? { configuration: configuration() } : {}));
});
