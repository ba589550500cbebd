const count = facts.names.length;
// Cards of a phone are long.
const isNarrow = matchMedia("(max-width: 48rem)").matches;
const perPage = isNarrow ? 10 : 50;
const sets = chosenSets();
// A unit is a group, or a feature that is in none; it goes by its first feature.
const groupOf = new Map();
for (const group of facts.groups) group.features.forEach((i) => groupOf.set(i, group));
const members = (i) => (groupOf.has(i) ? groupOf.get(i).features : [i]);
const isFirst = (i) => !groupOf.has(i) || groupOf.get(i).features[0] === i;
const unitName = (i) => (groupOf.has(i) ? groupOf.get(i).name : facts.names[i]);
let lowered = null;
let sorting = { column: "gain", descending: true };
let page = 0;
let shown = [];
let here = null;

// Each size holds only what it adds to the one before and drops from it.
function chosenSets() {
  const current = new Set();
  return facts.sizes.map((size) => {
    size.dropped.forEach((i) => current.delete(i));
    size.added.forEach((i) => current.add(i));
    return Int32Array.from(current).sort();
  });
}

function atSize(index) {
  const size = facts.sizes[index];
  const features = sets[index];
  const position = new Map();
  features.forEach((feature, i) => position.set(feature, i));
  const state = { size, features, position, replaced: new Map(), longest: 1 };
  if (size.gains) state.longest = size.gains.reduce((most, gain, i) => Math.max(most, gain + size.errors[i]), 1);
  if (size.nearest === null) return state;
  for (let i = 0; i < count; i++) {
    if (position.has(i) || Math.abs(size.correlation[i]) < facts.redundant) continue;
    const chosen = features[size.nearest[i]];
    if (!state.replaced.has(chosen)) state.replaced.set(chosen, []);
    state.replaced.get(chosen).push(i);
  }
  for (const list of state.replaced.values()) {
    list.sort((a, b) => Math.abs(size.correlation[b]) - Math.abs(size.correlation[a]));
  }
  return state;
}

const best = (i, key) => members(i).reduce((most, j) => Math.max(most, key(j)), -Infinity);
const percent = (value, scale, digits) => (value / scale).toFixed(digits);
const correlated = (i, correlation) => [breakable(facts.names[i]), ` (${(correlation / 100).toFixed(2)})`];
const plain = (text) => (i) => document.createTextNode(text(i));

function nameCell(i) {
  const cell = element("span", {}, breakable(unitName(i)));
  const features = members(i);
  if (!groupOf.has(i)) return cell;
  cell.append(folded(`${features.length.toLocaleString("en")} features`, features, (j) => [breakable(facts.names[j])]));
  return cell;
}

function gainCell(i) {
  const gain = columns.gain.key(i);
  if (gain === null) return document.createTextNode("–");
  const at = here.position.get(i);
  const error = here.size.errors[at];
  // The direction of a whole group is that of none of its features.
  const sign = here.size.signs && !groupOf.has(i) ? here.size.signs[at] : 0;
  const x = (value) => (100 * Math.min(Math.max(value, 0), here.longest)) / here.longest;
  const bar = svg("svg", { class: "gain", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
  bar.append(
    svg("line", { class: "zero", x1: 0, x2: 0, y1: 0, y2: 10 }),
    svg("rect", { x: 0, y: 1, width: x(gain), height: 8 }),
    svg("line", { class: "whisker", x1: x(gain - error), x2: x(gain + error), y1: 5, y2: 5 }),
  );
  const text = `${percent(gain, 100, 2)} ± ${percent(error, 100, 2)}`;
  const cell = element("span", {}, bar, text);
  if (sign) {
    const words = sign > 0 ? "the target rises with it" : "the target falls with it";
    cell.append(" ", element("span", { title: words, role: "img", "aria-label": words }, sign > 0 ? "▲" : "▼"));
  }
  return cell;
}

// What a mean of the target is in its own unit, with the digits that its range needs.
const digits = Math.max(0, Math.min(12, 2 - Math.floor(Math.log10(facts.span))));
const real = (value) => (facts.low + (facts.span * value) / 10000).toFixed(digits);

function profileCell(i) {
  const profile = facts.profiles[members(i)[0]];
  if (!profile) return document.createTextNode("–");
  return profile.labelled ? drawLabelled(profile, unitName(i)) : drawRange(profile, unitName(i));
}

const rowsTitle = (profile, bin) => `${profile.bins[bin]}: ${inCount(profile.counts[bin], "row")}`;

// One mean with its error, of each output, along one of the axes.
function drawMeans(drawn, profile, at) {
  facts.series.forEach((name, k) => {
    profile.means.forEach((mean, bin) => {
      if (mean === null) return;
      const [x1, y1] = at(bin, mean[k] - profile.errors[bin][k]);
      const [x2, y2] = at(bin, mean[k] + profile.errors[bin][k]);
      const [cx, cy] = at(bin, mean[k]);
      const title = `${profile.bins[bin]}: ${name} ${real(mean[k])}`;
      drawn.append(line(x1, y1, x2, y2, `s${k}`), svg("circle", { class: `s${k}`, cx, cy, r: 2 }, title));
    });
  });
}

// Of categories: in each line a name on a bar, the number of rows, and the mean on its right.
function drawLabelled(profile, name) {
  const [width, half, step] = [180, 100, 15];
  const height = step * profile.bins.length + 4;
  const most = Math.max(...profile.counts, 1);
  const drawn = svg("svg", { class: "profile", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `The target over ${name}` });
  profile.bins.forEach((bin, place) => {
    const top = place * step + 2;
    drawn.append(svg("rect", { x: 0, y: top, width: (half * profile.counts[place]) / most, height: step - 2 }, rowsTitle(profile, place)));
    const text = written(3, top + 10, cut(bin, 16), "start", "on-bar");
    text.append(svg("title"));
    text.lastChild.textContent = rowsTitle(profile, place);
    drawn.append(text);
  });
  const x = (value) => half + 6 + (width - half - 10) * (value / 10000);
  drawMeans(drawn, profile, (bin, value) => [x(value), bin * step + 2 + (step - 2) / 2]);
  return drawn;
}

// Of numbers: the means above, the numbers of rows below.
function drawRange(profile, name) {
  const [width, top, base, bottom] = [180, 44, 50, 74];
  const bins = profile.bins.length;
  const step = width / bins;
  const most = Math.max(...profile.counts, 1);
  const drawn = svg("svg", { class: "profile", viewBox: `0 0 ${width} 90`, role: "img", "aria-label": `The target over ${name}` });
  drawn.append(line(0, bottom, width, bottom, "frame"));
  profile.counts.forEach((rows, bin) => {
    const height = rows ? Math.max(1, ((bottom - base) * rows) / most) : 0;
    drawn.append(svg("rect", { x: bin * step + 0.5, width: step - 1, y: bottom - height, height }, rowsTitle(profile, bin)));
  });
  const at = (bin, value) => [(bin + 0.5) * step, 4 + (top - 4) * (1 - value / 10000)];
  facts.series.forEach((_, k) => {
    const known = profile.means.flatMap((mean, bin) => (mean === null ? [] : [at(bin, mean[k]).join(",")]));
    if (bins > 2) drawn.append(svg("polyline", { class: `s${k}`, points: known.join(" ") }));
  });
  drawMeans(drawn, profile, at);
  const last = profile.bins[bins - 1];
  drawn.append(written(0, 87, profile.bins[0].split(" to ")[0]));
  if (bins > 1 || last.includes(" to ")) drawn.append(written(width, 87, last.split(" to ").pop(), "end"));
  return drawn;
}

function relatedCell(i) {
  const cell = element("span");
  if (here.size.nearest === null) return document.createTextNode("–");
  const features = members(i);
  const nearest = here.size.nearest[i];
  if (features.length === 1 && nearest >= 0 && Math.abs(here.size.correlation[i]) >= facts.related) {
    cell.append("closest: ", ...correlated(here.features[nearest], here.size.correlation[i]));
  }
  const list = features.flatMap((j) => here.replaced.get(j) || []);
  if (list.length) {
    const title = `replaces ${inCount(list.length, "feature")}`;
    cell.append(folded(title, list, (j) => correlated(j, here.size.correlation[j]), list.length <= 3 ? { open: "" } : {}));
  }
  return cell.childNodes.length ? cell : document.createTextNode("–");
}

// Key: what a column is sorted by, null where unknown. Cell: what it shows.
const columns = {
  name: { title: "Feature", key: null, cell: nameCell },
  gain: {
    title: "Gain, %",
    key: (i) => (here.size.gains && here.position.has(i) ? here.size.gains[here.position.get(i)] : null),
    cell: gainCell,
  },
  alone: {
    title: "Alone, %", number: true,
    key: (i) => best(i, (j) => facts.univariate[j]), cell: plain((i) => percent(columns.alone.key(i), 10, 1)),
  },
  stability: {
    title: "Stability, %", number: true, absent: facts.stability === null,
    key: (i) => best(i, (j) => facts.stability[j]), cell: plain((i) => String(columns.stability.key(i))),
  },
  missing: {
    title: "Missing, %", number: true, absent: facts.missing === null,
    key: (i) => best(i, (j) => facts.missing[j]), cell: plain((i) => percent(columns.missing.key(i), 10, 1)),
  },
  values: { title: "Values", absent: facts.series.length === 0, fixed: true, cell: profileCell },
  related: {
    title: "Related",
    key: (i) => (here.size.nearest && here.size.nearest[i] >= 0 ? Math.abs(here.size.correlation[i]) : null),
    cell: relatedCell,
  },
};
const names = Object.keys(columns).filter((column) => !columns[column].absent);

function buildHead() {
  const row = byId("features").tHead.rows[0];
  for (const column of names) {
    const cell = element("th", { scope: "col", class: columns[column].number ? "number" : column });
    row.append(cell);
    if (columns[column].fixed) {
      cell.append(columns[column].title);
      continue;
    }
    const button = element("button", { type: "button" }, columns[column].title);
    button.addEventListener("click", () => {
      const same = sorting.column === column;
      sorting = { column, descending: same ? !sorting.descending : columns[column].key !== null };
      refresh();
    });
    cell.append(button);
  }
}

function sortRows(rows) {
  const direction = sorting.descending ? -1 : 1;
  const column = columns[sorting.column];
  if (column.key === null) {
    return rows.sort((a, b) => {
      const left = unitName(a), right = unitName(b);
      return direction * (left < right ? -1 : left > right ? 1 : a - b);
    });
  }
  const keys = new Float64Array(count);
  for (const i of rows) {
    const key = column.key(i);
    keys[i] = key === null ? Infinity : direction * key;  // unknown comes last either way
  }
  return rows.sort((a, b) => (keys[a] === keys[b] ? facts.univariate[b] - facts.univariate[a] : keys[a] < keys[b] ? -1 : 1));
}

function isFound(i, wanted) {
  return unitName(i).toLowerCase().includes(wanted) || members(i).some((j) => lowered[j].includes(wanted));
}

function refresh() {
  const wanted = byId("filter").value.toLowerCase();
  if (wanted && lowered === null) lowered = facts.names.map((name) => name.toLowerCase());
  const all = byId("only").checked ? Array.from(here.features) : Array.from({ length: count }, (_, i) => i);
  shown = sortRows(all.filter((i) => isFirst(i) && (!wanted || isFound(i, wanted))));
  page = 0;
  byId("features").tHead.rows[0].childNodes.forEach((cell, i) => {
    const sorted = names[i] === sorting.column;
    cell.setAttribute("aria-sort", sorted ? (sorting.descending ? "descending" : "ascending") : "none");
  });
  drawPage();
}

function drawPage() {
  const rows = shown.slice(page * perPage, (page + 1) * perPage).map((i) => {
    const row = element("tr", here.position.has(i) ? { class: "in" } : {});
    for (const column of names) {
      const { title, number, cell } = columns[column];
      const attributes = column === "name" ? { scope: "row" } : { class: number ? "number" : column, "data-label": title };
      row.append(element(column === "name" ? "th" : "td", attributes, cell(i)));
    }
    return row;
  });
  byId("features").tBodies[0].replaceChildren(...rows);
  const pages = Math.max(1, Math.ceil(shown.length / perPage));
  const what = facts.groups.length ? `${shown.length.toLocaleString("en")} features and groups` : inCount(shown.length, "feature");
  byId("page").textContent = pages === 1 ? what : `page ${page + 1} of ${pages}, ${what}`;
  byId("previous").hidden = byId("next").hidden = pages === 1;
  byId("previous").disabled = page === 0;
  byId("next").disabled = page >= pages - 1;
}

function showSize(index) {
  here = atSize(index);
  const text = `explained by ${inCount(here.features.length, "feature")}: ${facts.estimates[index].text}`;
  byId("state").textContent = text;
  byId("size").setAttribute("aria-valuetext", text);
  byId("partial").hidden = here.size.gains !== null && here.size.nearest !== null;
  byId("names").value = Array.from(here.features, (i) => facts.names[i]).join("\n");
  markSize();
  compare();
  refresh();
}

function markSize() {
  const index = Number(byId("size").value);
  document.querySelectorAll("#points > *").forEach((point, i) => point.classList.toggle("now", i === index));
}

// What changes from another size to this one.
function compare() {
  const [now, other] = [Number(byId("size").value), byId("other").value];
  byId("changes").replaceChildren();
  if (other === "" || Number(other) === now) return;
  const [ours, theirs] = [new Set(sets[now]), new Set(sets[other])];
  const only = (some, others) => [...some].filter((i) => !others.has(i)).map((i) => facts.names[i]);
  const listed = (names) => {
    const more = names.length > 20 ? ` and ${names.length - 20} more` : "";
    return names.length ? [names.slice(0, 20).join(", ") + more] : ["none"];
  };
  const [after, before] = [facts.estimates[now], facts.estimates[other]];
  const lines = {
    [`Only in the ${sets[now].length}`]: listed(only(ours, theirs)),
    [`Only in the ${sets[other].length}`]: listed(only(theirs, ours)),
    Explained: [`${after.text}; with ${sets[other].length}: ${before.text}`],
  };
  if (after.score && before.score) lines["Held-out rows"] = [`${after.score}; with ${sets[other].length}: ${before.score}`];
  for (const [label, shown] of Object.entries(lines)) {
    byId("changes").append(element("dt", {}, label), element("dd", {}, ...shown));
  }
}

// Of the table all rows, not only those of this page.
function featureRows() {
  const at = (i, values) => (values && here.position.has(i) ? values[here.position.get(i)] : null);
  const shared = (value, scale) => (value === null || value === undefined ? null : value / scale);
  const head = ["feature", "chosen", "gain", "standard_error", "direction", "alone", "stability", "missing", "closest", "correlation"];
  return [head, ...facts.names.map((name, i) => {
    const closest = here.size.nearest && here.size.nearest[i] >= 0 ? facts.names[here.features[here.size.nearest[i]]] : null;
    return [
      name, here.position.has(i), shared(at(i, here.size.gains), 10000), shared(at(i, here.size.errors), 10000),
      at(i, here.size.signs), shared(facts.univariate[i], 1000), shared(facts.stability?.[i], 100),
      shared(facts.missing?.[i], 1000), closest, closest && here.size.correlation[i] / 100,
    ];
  })];
}

function sizeRows() {
  const rows = facts.estimates.map((one, i) => [sets[i].length, one.value, one.low, one.high, one.score, Array.from(sets[i], (j) => facts.names[j]).join("; ")]);
  return [["features", "explained", "low", "high", "held_out_rows", "names"], ...rows];
}
