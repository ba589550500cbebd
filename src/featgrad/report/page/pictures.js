// The pictures of a selection's page, and what is done when it opens.

// Learnability by size. Sizes have the same distance, so that each has space for its number; one
// whose estimate is unknown has a question mark and no point.
function drawCurve(width) {
  const known = facts.estimates.filter((one) => one.value !== null);
  const predicted = facts.estimates.flatMap(({ r2 }, i) => (r2 === null ? [] : [[i, r2]]));
  const ends = [facts.everything.value ?? 0, ...known.flatMap((one) => [one.low, one.high]), ...predicted.map(([, r2]) => r2)];
  const low = Math.max(-1, Math.min(0, ...ends));
  const high = Math.min(1.05, Math.max(0.05, ...ends) * 1.05);
  const [left, right] = [52, 20];
  const labels = sets.map((set) => set.length.toLocaleString("en"));
  const step = (width - left - right) / sets.length;
  const widest = 9 * Math.max(...labels.map((label) => label.length)) + 6;
  const lines = Math.ceil(widest / step);
  const bottom = 44 + 15 * lines;
  const legend = [["chosen", `chosen: ${labels[facts.chosen]}`]];
  if (facts.everything.value !== null) legend.push(["everything", `all ${facts.candidates.toLocaleString("en")}: ${inPercent(facts.everything.value)}`]);
  if (predicted.length) legend.push(["predicted", "R² of held-out rows"]);
  const isNarrow = width <= 500;
  const top = isNarrow ? 18 + 16 * legend.length : 34;
  const floor = top + 226;
  const [drawn, { y }] = axes(width, floor + bottom, [left, top, right, bottom], [low, high], { shown: (value) => inPercent(value, 0) });
  const x = (i) => left + (i + 0.5) * step;
  labels.forEach((label, i) => drawn.append(written(x(i), floor + 18 + 15 * (i % lines), label, "middle", i === facts.chosen ? "own" : "")));
  drawn.append(written((left + width - right) / 2, floor + bottom - 8, "number of features", "middle"));
  if (!isNarrow) drawn.append(written(4, 16, "explained ↑"));
  let [across, down] = [isNarrow ? left : left + 36, 12];
  for (const [kind, words] of legend) {
    drawn.append(line(across, down, across + 26, down, kind), written(across + 32, down + 4, words));
    if (isNarrow) down += 16;
    else across += 56 + 7 * words.length;
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
  drawn.append(svg("polyline", { class: "predicted", points: predicted.map(([i, r2]) => `${x(i)},${y(Math.max(low, r2))}`).join(" ") }));
  const points = svg("g", { id: "points" });
  facts.estimates.forEach((one, i) => {
    const point = svg("g");
    if (one.value === null) point.append(written(x(i) + 9, y((low + high) / 2), "?", "middle", "own"));
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
  const [drawn, { x, y }] = axes(side, side, [52, 30, 24, 46], [0, 1], { x: [0, 1], ...shared });
  drawn.append(
    line(x(0), y(0), x(1), y(1), "everything"),
    written(4, 12, "rows of the class, found ↑"),
    written((x(0) + x(1)) / 2, side - 8, "other rows, taken for it →", "middle"),
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
  const shown = (value) => (Math.abs(value) >= 10000 ? value.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 6 }) : short(value, ends[1] - ends[0]));
  const [drawn, { x, y }] = axes(side, side, [66, 30, 24, 46], range, { x: range, shown, across: shown });
  drawn.append(
    line(x(range[0]), y(range[0]), x(range[1]), y(range[1]), "everything"),
    written(4, 12, `actual ${name} ↑`),
    written((x(range[0]) + x(range[1])) / 2, side - 8, `predicted ${name} →`, "middle"),
  );
  for (const [predicted, actual] of points) drawn.append(svg("circle", { class: "dot", cx: x(predicted), cy: y(actual), r: 2.5 }));
  drawn.setAttribute("aria-label", `Predicted against actual ${name}`);
  return drawn;
}

// Rows of each class by the class that they are taken for. Where names are wider than a cell,
// columns have numbers.
function drawConfusion(width, { classes, counts }) {
  const letters = Math.max(...classes.map((name) => name.length));
  const left = Math.min(0.4 * width, Math.max(60, 30 + 7 * letters));
  const [side, high, top] = [Math.min(150, (width - left - 4) / classes.length), 32, 44];
  const isNarrow = 7 * letters > side;
  // Where counts are wider than a cell, it has the percentage of its row.
  const longest = Math.max(...counts.flat()).toLocaleString("en").length;
  const inShares = 7 * longest + 3 > side;
  const [across, height] = [left + side * classes.length, top + high * classes.length + 4];
  const drawn = svg("svg", { viewBox: `0 0 ${across} ${height}`, width: across, height, class: "chart", role: "img" });
  drawn.append(written(left - 8, 36, "actual ↓", "end"), written((left + across) / 2, 14, inShares ? "taken for, % of each class" : "taken for", "middle"));
  classes.forEach((name, i) => {
    const total = counts[i].reduce((sum, one) => sum + one, 0);
    const text = cut(isNarrow ? `${i + 1}  ${name}` : name, (left - 8) / 7);
    drawn.append(
      written(left - 8, top + high * (i + 0.5) + 4, text, "end"),
      written(left + side * (i + 0.5), 36, isNarrow ? String(i + 1) : name, "middle"),
    );
    counts[i].forEach((rows, j) => {
      const cell = { x: left + side * j, y: top + high * i, width: side - 1, height: high - 1, class: i === j ? "plus" : "minus" };
      const opacity = rows ? 0.06 + (0.44 * rows) / total : 0;
      const title = `${inCount(rows, "row")} of ${name} taken for ${classes[j]}, ${inPercent(rows / (total || 1))}`;
      drawn.append(
        svg("rect", { ...cell, "fill-opacity": opacity.toFixed(2) }, title),
        written(cell.x + side / 2, cell.y + high / 2 + 4, (inShares ? Math.round((100 * rows) / (total || 1)) : rows).toLocaleString("en"), "middle", i === j ? "own" : "count"),
      );
    });
  });
  drawn.setAttribute("aria-label", `Confusion matrix of ${classes.length} classes`);
  return drawn;
}

function showHeldOut(held) {
  byId("held-out").hidden = false;
  picture("predictions", (width) => (held.curves ? drawRoc(width, held) : drawPredicted(width, held)));
  let note = `Each of these rows is predicted by a ridge model on features that were chosen without it. Across: predicted ${held.name}; upwards: the actual one. The nearer the points are to the line, the better.`;
  if (held.curves) {
    note = `Each of ${inCount(held.rows, "row")} is ranked by a ridge model on features that were chosen without it. Upwards: the share of the rows of a class that is found at some threshold; across: the share of all other rows that is taken for it. Chance is on the line.`;
    if (held.counts) note += " The table counts the rows of each class by the class that they are taken for.";
    const items = held.curves.map(({ name, count, found }, k) =>
      element("li", { class: `s${k}` }, `${name}: of the ${count.toLocaleString("en")} rows ranked highest, as many as there are, ${inPercent(found / count)} are right`));
    byId("held-out-legend").append(...items, ...mixedUp(held));
  }
  byId("held-out-note").textContent = note;
}

// Of few classes a picture, of many the pairs that are mixed up most often.
function mixedUp({ rows, counts, pairs, right, ...held }) {
  if (counts) {
    byId("confusion").hidden = false;
    picture("confusion", (width) => drawConfusion(width, { counts, ...held }));
  }
  if (!pairs) return [];
  const lines = pairs.map(([actual, other, count, of]) => element("li", {}, `${actual} for ${other}: ${inPercent(count / of)} of ${inCount(of, "row")}`));
  return [element("li", {}, `Of all classes, ${inPercent(right / rows)} of the rows are taken for the right one. Most often mixed up:`, element("ul", {}, ...lines))];
}

// A number with three digits at most, and no more than the range needs.
function short(value, span) {
  if (Math.abs(value) < span / 1000) return "0";
  if (Math.abs(value) >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 0 });
  const rounded = Number(value.toPrecision(3));
  return Math.abs(rounded) < 0.001 ? rounded.toExponential() : String(rounded);
}

// Means of the target over a column, and the line that a function of it makes of the target.
function drawShape(width, { x: at, means, errors, grid, shape, parts, target }) {
  const ends = [...shape, ...means.flatMap((mean, i) => (mean === null ? [] : [mean - errors[i], mean + errors[i]]))];
  const gap = (Math.max(...ends) - Math.min(...ends)) * 0.05 || 1;
  const range = [Math.min(...ends) - gap, Math.max(...ends) + gap];
  const across = [Math.min(grid[0], at[0]), Math.max(grid.at(-1), at.at(-1))];
  const shown = ([low, high]) => (value) => short(value, high - low);
  const [drawn, { x, y }] = axes(width, 270, [60, 14, 30, 44], range, { x: across, shown: shown(range), across: shown(across) });
  drawn.append(written(4, 14, target), written(width / 2, 264, parts[0], "middle"));
  drawn.append(svg("polyline", { class: "curve s1", points: grid.map((value, i) => `${x(value)},${y(shape[i])}`).join(" ") }));
  means.forEach((mean, i) => {
    if (mean === null) return;
    drawn.append(line(x(at[i]), y(mean - errors[i]), x(at[i]), y(mean + errors[i]), "error"), svg("circle", { class: "mean", cx: x(at[i]), cy: y(mean), r: 3 }));
  });
  return drawn;
}

// Means of the target over two columns: the stronger the colour, the higher.
function drawMap(width, { means, counts, edges, parts, target }) {
  const [left, top, height] = [60, 42, 270];
  const known = means.flat().filter((mean) => mean !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const [across, up] = [(width - left - 20) / means.length, (height - top - 44) / means[0].length];
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "chart", role: "img" });
  drawn.append(
    written(4, 14, `${target}: ${short(low, high - low)} (pale) to ${short(high, high - low)} (strong)`),
    written(4, 32, `${parts[1]} ↑`),
    written(left + (width - left) / 2, height - 6, `${parts[0]} →`, "middle"),
  );
  means.forEach((row, i) => row.forEach((mean, j) => {
    const cell = { x: left + i * across, y: height - 44 - (j + 1) * up, width: across - 1, height: up - 1 };
    const place = `${parts[0]} ${edges[0][i]} to ${edges[0][i + 1]}, ${parts[1]} ${edges[1][j]} to ${edges[1][j + 1]}`;
    const opacity = mean === null ? 0 : 0.06 + (0.94 * (mean - low)) / (high - low || 1);
    const said = mean === null ? "too few rows" : short(mean, high - low);
    drawn.append(svg("rect", { ...cell, class: "plus", "fill-opacity": opacity.toFixed(2) }, `${place}: ${said} (${inCount(counts[i][j], "row")})`));
  }));
  edges[0].forEach((edge, i) => drawn.append(written(left + i * across, height - 28, edge, "middle")));
  edges[1].forEach((edge, j) => drawn.append(written(left - 6, height - 40 - j * up, edge, "end")));
  return drawn;
}

function showConstructed(built) {
  byId("built").hidden = false;
  built.forEach((one, i) => {
    const id = `constructed-${i}`;
    byId("constructed").append(element("figure", { id }, ...one.names.map((name) => element("h3", {}, breakable(name)))));
    picture(id, (width) => {
      const drawn = one.grid ? drawShape(width, one) : drawMap(width, one);
      drawn.setAttribute("aria-label", `${one.target} over ${one.parts.join(" and ")}`);
      return drawn;
    });
  });
}

// Each pair of features has a square: its colour is the sign of the correlation, its opacity the size.
function drawHeatmap({ correlations, replaced_by }) {
  const [cell, margin] = [Math.max(20, Math.min(36, 240 / correlations.length)), 28];
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
      made.append(
        written(left - 8, step * place + 14, cut(name, left / 8), "end", here.position.has(i) ? "own" : ""),
        svg("rect", { class: "gap", x: left, y: step * place + 3, width: (width - left - 110) * share, height: step - 6 }, name),
        written(left + (width - left - 110) * share + 6, step * place + 14, inPercent(share)),
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
byId("only").checked = sets[facts.chosen].length > 0;
byId("other").value = facts.best === facts.chosen ? "" : facts.best ?? "";
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
if (facts.constructed.length) showConstructed(facts.constructed);
if (facts.missing !== null) showMissing();
listContents();
