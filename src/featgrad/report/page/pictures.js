// The pictures of a selection's page, and what is done when it opens.

// Learnability by size. Sizes have the same distance, so that each has space for its number; one
// whose estimate is unknown has a question mark and no point.
function drawCurve(width) {
  const known = facts.estimates.filter((one) => one.value !== null);
  const ends = [facts.everything.value ?? 0, ...known.flatMap((one) => [one.low, one.high])];
  const low = Math.max(-1, Math.min(0, ...ends));
  const high = Math.min(1.05, Math.max(0.05, ...ends) * 1.05);
  const [left, right, top] = [52, 20, 34];
  const labels = sets.map((set) => set.length.toLocaleString("en"));
  const step = (width - left - right) / sets.length;
  const widest = 9 * Math.max(...labels.map((label) => label.length)) + 6;
  const lines = Math.ceil(widest / step);
  const bottom = 44 + 15 * lines;
  const [drawn, { y }] = axes(width, 260 + bottom, [left, top, right, bottom], [low, high], { shown: (value) => inPercent(value, 0) });
  const floor = 260;
  const x = (i) => left + (i + 0.5) * step;
  labels.forEach((label, i) => drawn.append(written(x(i), floor + 18 + 15 * (i % lines), label, "middle", i === facts.chosen ? "own" : "")));
  drawn.append(written((left + width - right) / 2, floor + bottom - 8, "number of features", "middle"));
  const text = facts.everything.value === null ? "unknown" : inPercent(facts.everything.value);
  const every = `all ${facts.candidates.toLocaleString("en")}: ${text}`;
  const legend = [["chosen", `chosen: ${labels[facts.chosen]}`], ["everything", every]];
  let place = left;
  for (const [kind, words] of legend) {
    drawn.append(line(place, 12, place + 26, 12, kind), written(place + 32, 16, words));
    place += 56 + 7 * words.length;
  }
  if (facts.everything.value !== null) drawn.append(line(left, y(facts.everything.value), width - right, y(facts.everything.value), "everything"));
  drawn.append(line(x(facts.chosen), top, x(facts.chosen), floor, "chosen"));
  // A band and a line for each run of known sizes.
  const runs = [[]];
  facts.estimates.forEach((one, i) => (one.value === null ? runs.push([]) : runs.at(-1).push(i)));
  for (const run of runs.filter((some) => some.length)) {
    const along = (some, key) => some.map((i) => `${x(i)},${y(facts.estimates[i][key])}`);
    drawn.append(
      svg("polygon", { class: "band", points: [...along(run, "high"), ...along(run.toReversed(), "low")].join(" ") }),
      svg("polyline", { class: "line", points: along(run, "value").join(" ") }),
    );
  }
  const points = svg("g", { id: "points" });
  facts.estimates.forEach((one, i) => {
    const point = svg("g");
    if (one.value === null) point.append(written(x(i), y((low + high) / 2), "?", "middle"));
    else point.append(line(x(i), y(one.low), x(i), y(one.high)), svg("circle", { cx: x(i), cy: y(one.value), r: 4 }));
    const target = svg("rect", { class: "touch", x: x(i) - step / 2, width: step, y: top, height: floor - top }, `${labels[i]}: ${one.text}`);
    target.addEventListener("click", () => { byId("size").value = i; showSize(i); });
    point.append(target);
    points.append(point);
  });
  drawn.append(points);
  drawn.setAttribute("aria-label", `Explained fraction against the number of features, of ${inCount(sets.length, "size")}`);
  requestAnimationFrame(markSize);
  return drawn;
}

// Of each class the share that is found against the share of others that is taken for it.
function drawRoc(width, { curves, rows }) {
  const side = Math.min(width, 460);
  const shared = { shown: (value) => inPercent(value, 0), across: (value) => inPercent(value, 0) };
  const [drawn, { x, y }] = axes(side, side, [52, 10, 24, 46], [0, 1], { x: [0, 1], ...shared });
  drawn.append(
    line(x(0), y(0), x(1), y(1), "everything"),
    written((x(0) + x(1)) / 2, side - 8, "of other rows, taken for it", "middle"),
  );
  curves.forEach((curve, k) => {
    const points = curve.x.map((value, i) => `${x(value / 1000)},${y(curve.y[i] / 1000)}`).join(" ");
    drawn.append(svg("polyline", { class: `curve s${k}`, points }, curve.name));
  });
  drawn.setAttribute("aria-label", `ROC of ${inCount(rows, "held-out row")}`);
  return drawn;
}

// The nearer the points are to the line, the better.
function drawPredicted(width, { name, points }) {
  const side = Math.min(width, 460);
  const all = points.flat();
  const ends = [Math.min(...all), Math.max(...all)];
  const gap = (ends[1] - ends[0]) * 0.03 || 1;
  const range = [ends[0] - gap, ends[1] + gap];
  const digits = Math.max(0, Math.min(12, 1 - Math.floor(Math.log10((ends[1] - ends[0]) / 2 || 1))));
  const shown = (value) => {
    const text = value.toFixed(digits).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
    return Math.abs(value) >= 1e6 ? value.toExponential(1) : text.replace(/^-0$/, "0");
  };
  const [drawn, { x, y }] = axes(side, side, [66, 10, 24, 46], range, { x: range, shown, across: shown });
  drawn.append(
    line(x(range[0]), y(range[0]), x(range[1]), y(range[1]), "everything"),
    written((x(range[0]) + x(range[1])) / 2, side - 8, `predicted ${name}`, "middle"),
  );
  for (const [predicted, actual] of points) drawn.append(svg("circle", { class: "dot", cx: x(predicted), cy: y(actual), r: 2.5 }));
  drawn.setAttribute("aria-label", `Predicted against actual ${name}`);
  return drawn;
}

function showHeldOut(held) {
  byId("held-out").hidden = false;
  picture("predictions", (width) => (held.curves ? drawRoc(width, held) : drawPredicted(width, held)));
  let note = `Each of these rows is predicted by a ridge model on features that were chosen without it. Across: predicted ${held.name}; upwards: the actual one. The nearer the points are to the line, the better.`;
  if (held.curves) {
    note = `Each of ${inCount(held.rows, "row")} is ranked by a ridge model on features that were chosen without it. Upwards: the share of the rows of a class that is found at some threshold; across: the share of all other rows that is taken for it. Chance is on the line.`;
    const items = held.curves.map(({ name, count, found }, k) =>
      element("li", { class: `s${k}` }, `${name}: of the ${count.toLocaleString("en")} rows ranked highest, as many as there are, ${inPercent(found / count)} are right`));
    byId("held-out-legend").append(...items);
  }
  byId("held-out-note").textContent = note;
}

// Each pair of features has a square: its colour is the sign of the correlation, its opacity the size.
function drawHeatmap({ correlations, replaced_by }) {
  const [cell, margin] = [20, 28];
  const side = margin + cell * correlations.length;
  const drawn = svg("svg", { viewBox: `0 0 ${side} ${side}`, width: side, class: "heatmap", role: "img", "aria-label": `Correlations among ${correlations.length} features` });
  correlations.forEach((row, i) => {
    const middle = margin + cell * i + cell / 2;
    const kind = replaced_by[i] >= 0 ? "replaced" : "";
    drawn.append(written(margin - 5, middle + 4, String(i + 1), "end", kind), written(middle, margin - 7, String(i + 1), "middle", kind));
    row.forEach((hundredths, j) => {
      const shown = { x: margin + cell * j, y: margin + cell * i, width: cell - 1, height: cell - 1, class: hundredths < 0 ? "minus" : "plus" };
      drawn.append(svg("rect", { ...shown, "fill-opacity": Math.abs(hundredths) / 100 }, `${i + 1} and ${j + 1}: ${(hundredths / 100).toFixed(2)}`));
    });
  });
  return drawn;
}

function showRedundancy(redundancy) {
  byId("redundancy").hidden = false;
  picture("heatmap", () => drawHeatmap(redundancy));
  const items = redundancy.names.map((name, i) => {
    const by = redundancy.replaced_by[i];
    const item = element("li", { class: by >= 0 ? "replaced" : "in" }, breakable(name));
    if (by >= 0) item.append(" ", element("span", { class: "note" }, `replaced by ${by + 1} (${(redundancy.correlations[i][by] / 100).toFixed(2)})`));
    return item;
  });
  const list = element("ol", {}, ...items);
  const isLong = isNarrow && items.length > 8;
  byId("alike").append(isLong ? element("details", {}, element("summary", {}, inCount(items.length, "name")), list) : list);
}

// Features by the share of rows in which they are missing.
function showMissing() {
  const most = 25;
  const gaps = (i) => best(i, (j) => facts.missing[j]);
  const missing = Array.from({ length: count }, (_, i) => i).filter((i) => isFirst(i) && gaps(i) > 0).sort((a, b) => gaps(b) - gaps(a));
  const drawn = missing.slice(0, most);
  byId("missing").hidden = false;
  picture("gaps", (width) => {
    const [left, step] = [Math.min(240, width * 0.45), 20];
    const made = svg("svg", { viewBox: `0 0 ${width} ${step * drawn.length}`, width, height: step * drawn.length, class: "chart", role: "img", "aria-label": "Missing values" });
    drawn.forEach((i, place) => {
      const [share, name] = [gaps(i) / 1000, unitName(i)];
      const letters = Math.floor(left / 7.5);
      const short = name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
      made.append(
        written(left - 8, step * place + 14, short, "end", here.position.has(i) ? "own" : ""),
        svg("rect", { class: "gap", x: left, y: step * place + 3, width: (width - left - 60) * share, height: step - 6 }, name),
        written(left + (width - left - 60) * share + 6, step * place + 14, inPercent(share)),
      );
    });
    return made;
  });
  const others = missing.length - drawn.length;
  if (others > 0) byId("missing").append(element("p", { class: "note" }, `${inCount(others, "more feature")} with missing values`));
}

[byId("low").textContent, byId("high").textContent] = facts.range;
byId("size").hidden = facts.sizes.length === 1;
byId("versus").hidden = facts.sizes.length === 1;
byId("other").append(element("option", { value: "" }, "–"), ...sets.map((set, i) => element("option", { value: i }, inCount(set.length, "feature"))));
for (const [i, { value, low, high, score }] of facts.estimates.entries()) {
  const shown = value === null ? ["unknown", ""] : [inPercent(value), `${inPercent(low)} to ${inPercent(high)}`];
  const cells = [sets[i].length.toLocaleString("en"), ...shown, score ?? ""];
  byId("path").append(element("tr", {}, ...cells.map((cell) => element("td", {}, cell))));
}
buildHead();
byId("size").addEventListener("input", (event) => showSize(Number(event.target.value)));
byId("other").addEventListener("change", compare);
byId("filter").addEventListener("input", refresh);
byId("only").addEventListener("change", refresh);
byId("previous").addEventListener("click", () => { page -= 1; drawPage(); });
byId("next").addEventListener("click", () => { page += 1; drawPage(); });
saveRows("save-features", "features.csv", featureRows);
saveRows("save-sizes", "sizes.csv", sizeRows);
showSize(Number(byId("size").value));
picture("curve", drawCurve);
if (facts.redundancy !== null) showRedundancy(facts.redundancy);
if (facts.held_out !== null) showHeldOut(facts.held_out);
if (facts.missing !== null) showMissing();
listContents();
