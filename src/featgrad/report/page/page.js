"use strict";
(() => {
  const facts = JSON.parse(document.getElementById("facts").textContent);
  const count = facts.names.length;
  const byId = (id) => document.getElementById(id);
  const perPage = 50;
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

  // Lines of a name end between its words.
  function breakable(name) {
    const made = element("span");
    name.split(/(?<=[_=/:;&|+-])(?=[^_=/:;&|+\s-])|(?<=[.,])(?=\p{L})/u).forEach((word, i) => {
      if (i) made.append(element("wbr"));
      made.append(word);
    });
    return made;
  }

  const best = (i, key) => members(i).reduce((most, j) => Math.max(most, key(j)), -Infinity);
  const percent = (value, scale, digits) => (value / scale).toFixed(digits);
  const correlated = (i, correlation) => [breakable(facts.names[i]), ` (${(correlation / 100).toFixed(2)})`];
  const plain = (text) => (i) => document.createTextNode(text(i));

  // A folded list, of which the first hundred items are made.
  function folded(title, items, item, attributes = {}) {
    const made = items.slice(0, 100).map((j) => element("li", {}, ...item(j)));
    const more = items.length - made.length;
    if (more > 0) made.push(element("li", {}, `and ${more.toLocaleString("en")} more`));
    return element("details", attributes, element("summary", {}, title), element("ul", {}, ...made));
  }

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
      svg("rect", { class: sign < 0 ? "minus" : "plus", x: 0, y: 1, width: x(gain), height: 8 }),
      svg("line", { class: "whisker", x1: x(gain - error), x2: x(gain + error), y1: 5, y2: 5 }),
    );
    const text = `${percent(gain, 100, 2)} ± ${percent(error, 100, 2)}`;
    const cell = element("span", {}, bar, text);
    if (sign) {
      const words = sign > 0 ? "the target rises with it" : "the target falls with it";
      cell.append(" ", element("span", { class: sign > 0 ? "plus" : "minus", title: words, role: "img", "aria-label": words }, sign > 0 ? "▲" : "▼"));
    }
    return cell;
  }

  // Above the means of the target, below the numbers of rows.
  function profileCell(i) {
    const profile = facts.profiles[members(i)[0]];
    if (!profile) return document.createTextNode("–");
    const [width, top, base, bottom] = [180, 44, 50, 74];
    const bins = profile.bins.length;
    const step = width / bins;
    const most = Math.max(...profile.counts, 1);
    const y = (value) => 4 + (top - 4) * (1 - value / 10000);
    const real = (value) => (facts.low + (facts.span * value) / 10000).toPrecision(3);
    const numbered = !groupOf.has(i);
    const drawn = svg("svg", { class: "profile", viewBox: `0 0 ${width} ${numbered ? 90 : 76}`, role: "img", "aria-label": `The target over ${unitName(i)}` });
    drawn.append(svg("line", { class: "frame", x1: 0, x2: width, y1: bottom, y2: bottom }));
    profile.counts.forEach((rows, bin) => {
      const height = rows ? Math.max(1, ((bottom - base) * rows) / most) : 0;
      const title = `${profile.bins[bin]}: ${rows.toLocaleString("en")} rows`;
      drawn.append(svg("rect", { x: bin * step + 0.5, width: step - 1, y: bottom - height, height }, title));
    });
    facts.series.forEach((name, k) => {
      const known = profile.means.map((mean, bin) => [bin, mean]).filter(([, mean]) => mean !== null);
      if (numbered && bins > 2) {
        drawn.append(svg("polyline", { class: `s${k}`, points: known.map(([bin, mean]) => `${(bin + 0.5) * step},${y(mean[k])}`).join(" ") }));
      }
      for (const [bin, mean] of known) {
        const x = (bin + 0.5) * step;
        const error = profile.errors[bin][k];
        drawn.append(
          svg("line", { class: `s${k}`, x1: x, x2: x, y1: y(mean[k] - error), y2: y(mean[k] + error) }),
          svg("circle", { class: `s${k}`, cx: x, cy: y(mean[k]), r: 2 }, `${profile.bins[bin]}: ${name} ${real(mean[k])}`),
        );
      }
    });
    if (numbered) {
      const ends = [profile.bins[0].split(" to ")[0], profile.bins[bins - 1].split(" to ").pop()];
      ends.forEach((end, last) => {
        if (last && !profile.bins[bins - 1].includes(" to ") && bins === 1) return;
        const text = svg("text", { x: last ? width : 0, y: 87, "text-anchor": last ? "end" : "start" });
        text.textContent = end;
        drawn.append(text);
      });
    }
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
      const title = list.length === 1 ? "replaces 1 feature" : `replaces ${list.length.toLocaleString("en")} features`;
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
    const what = facts.groups.length ? "features and groups" : "features";
    byId("page").textContent = `page ${page + 1} of ${pages}, ${shown.length.toLocaleString("en")} ${what}`;
    byId("previous").disabled = page === 0;
    byId("next").disabled = page >= pages - 1;
  }

  function showSize(index) {
    here = atSize(index);
    const counted = here.features.length === 1 ? "1 feature" : `${here.features.length.toLocaleString("en")} features`;
    const text = `explained by ${counted}: ${here.size.explained}`;
    byId("state").textContent = text;
    byId("size").setAttribute("aria-valuetext", text);
    byId("partial").hidden = here.size.gains !== null && here.size.nearest !== null;
    byId("names").value = Array.from(here.features, (i) => facts.names[i]).join("\n");
    Array.from(byId("points").children).forEach((point, i) => point.classList.toggle("now", i === index));
    refresh();
  }

  [byId("low").textContent, byId("high").textContent] = facts.range;
  byId("size").hidden = facts.sizes.length === 1;
  buildHead();
  byId("size").addEventListener("input", (event) => showSize(Number(event.target.value)));
  byId("filter").addEventListener("input", refresh);
  byId("only").addEventListener("change", refresh);
  byId("previous").addEventListener("click", () => { page -= 1; drawPage(); });
  byId("next").addEventListener("click", () => { page += 1; drawPage(); });
  showSize(Number(byId("size").value));
})();
