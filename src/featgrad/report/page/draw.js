"use strict";
// What pages share: elements, pictures as wide as the page, and what can be saved of them.
const facts = JSON.parse(document.getElementById("facts").textContent);
const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function svg(tag, attributes = {}, title = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (title !== null) made.append(svg("title"));
  if (title !== null) made.firstChild.textContent = title;
  return made;
}

function written(x, y, text, anchor = "start", kind = "") {
  const made = svg("text", { x, y, "text-anchor": anchor, class: kind });
  made.append(text);
  return made;
}

const line = (x1, y1, x2, y2, kind = "", title = null) => svg("line", { x1, y1, x2, y2, class: kind }, title);
const inCount = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const inPercent = (share, digits = 1) => `${(100 * share).toFixed(digits).replace(/^-(0\.?0*)$/, "$1")}%`;

const cut = (name, letters) => (name.length > letters ? `${name.slice(0, Math.floor(letters) - 1)}…` : name);

// Lines of a name end between its words.
function breakable(name) {
  const made = element("span");
  name.split(/(?<=[_=/:;&|+-])(?=[^_=/:;&|+\s-])|(?<=[.,])(?=\p{L})/u).forEach((word, i) => {
    if (i) made.append(element("wbr"));
    made.append(word);
  });
  return made;
}

// A folded list, of which the first hundred items are made.
function folded(title, items, item, attributes = {}) {
  const made = items.slice(0, 100).map((j) => element("li", {}, ...item(j)));
  const more = items.length - made.length;
  if (more > 0) made.push(element("li", {}, `and ${more.toLocaleString("en")} more`));
  return element("details", attributes, element("summary", {}, title), element("ul", {}, ...made));
}

// About so many steps of 1, 2 or 5 times a power of ten.
function ticks(low, high, count = 5) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => power * factor >= rough * 0.8);
  const from = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - from + 1 }, (_, i) => (from + i) * step);
}

// Axes with their numbers; the picture, and where a value is in it.
function axes(width, height, [left, top, right, bottom], y, { x = null, shown = inPercent, across = String, kind = "" }) {
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: `chart ${kind}`, role: "img" });
  const place = ([low, high], from, to) => (value) => from + ((to - from) * (value - low)) / (high - low);
  const places = { y: place(y, height - bottom, top), x: x && place(x, left, width - right) };
  for (const tick of ticks(...y)) {
    drawn.append(
      line(left, places.y(tick), width - right, places.y(tick), "grid"),
      written(left - 6, places.y(tick) + 4, shown(tick), "end"),
    );
  }
  for (const tick of x ? ticks(...x, width / 75) : []) drawn.append(written(places.x(tick), height - bottom + 18, across(tick), "middle"));
  return [drawn, places];
}

// Draws as wide as the place is, and again where that changes; the picture can be saved.
function picture(id, draw) {
  const place = element("div", { class: "drawn" });
  let width = 0;
  function again() {
    const now = Math.max(280, Math.floor(place.clientWidth));
    if (now === width) return;
    width = now;
    place.replaceChildren(draw(width));
  }
  const save = element("button", { type: "button", class: "save" }, "PNG");
  save.addEventListener("click", async () => download(`${id}.png`, await asPng(place.querySelector("svg"))));
  byId(id).append(place, save);
  again();
  new ResizeObserver(again).observe(place);
}

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight"];

async function asPng(drawn) {
  const copy = drawn.cloneNode(true);
  const { width, height } = drawn.getBoundingClientRect();
  const own = [drawn, ...drawn.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(own[i]);
    for (const name of STYLES) node.style.setProperty(name, style.getPropertyValue(name));
  });
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await image.decode();
  const canvas = element("canvas", { width: Math.ceil(2 * width), height: Math.ceil(2 * height) });
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png");
}

function asCsv(rows) {
  const field = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  return rows.map((row) => row.map((value) => field(String(value ?? ""))).join(",")).join("\r\n");
}

function download(name, url) {
  element("a", { download: name, href: url }).click();
}

function saveRows(button, name, rows) {
  byId(button).addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([asCsv(rows())], { type: "text/csv" }));
    download(name, url);
    URL.revokeObjectURL(url);
  });
}

// Links to all sections that are there.
function listContents() {
  for (const section of document.querySelectorAll("main section[id]:not([hidden])")) {
    byId("contents").append(element("a", { href: `#${section.id}` }, section.querySelector("h2").textContent), " ");
  }
}
