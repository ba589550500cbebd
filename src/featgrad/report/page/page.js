
"use strict";
(() => {
  const facts = JSON.parse(document.getElementById("facts").textContent);
  const count = facts.names.length;
  const byId = (id) => document.getElementById(id);
  const perPage = 50;
  const sets = chosenSets();
  const groupOf = new Map();
  for (const group of facts.groups) group.features.forEach((i) => groupOf.set(i, group.name));
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
    const state = { size, features, position, redundant: new Map() };
    if (size.nearest === null) return state;
    for (let i = 0; i < count; i++) {
      if (position.has(i) || Math.abs(size.correlation[i]) < facts.redundant) continue;
      const chosen = features[size.nearest[i]];
      if (!state.redundant.has(chosen)) state.redundant.set(chosen, []);
      state.redundant.get(chosen).push(i);
    }
    for (const list of state.redundant.values()) {
      list.sort((a, b) => Math.abs(size.correlation[b]) - Math.abs(size.correlation[a]));
    }
    return state;
  }

  const named = (i, correlation) => `${facts.names[i]} (${(correlation / 100).toFixed(2)})`;
  const percent = (value, scale, digits) => (value / scale).toFixed(digits);

  // Key: what a column is sorted by, null where unknown. Text: what it shows.
  const columns = {
    name: { title: "Feature", key: null, text: (i) => facts.names[i] },
    group: {
      title: "Group", absent: facts.groups.length === 0,
      key: null, text: (i) => groupOf.get(i) ?? "–",
    },
    gain: {
      title: "Gain, %", number: true,
      key: (i) => (here.size.gains && here.position.has(i) ? here.size.gains[here.position.get(i)] : null),
      text: (i) => {
        const gain = columns.gain.key(i);
        if (gain === null) return "–";
        return `${percent(gain, 100, 2)} ± ${percent(here.size.errors[here.position.get(i)], 100, 2)}`;
      },
    },
    univariate: { title: "Univariate, %", number: true, key: (i) => facts.univariate[i], text: (i) => percent(facts.univariate[i], 10, 1) },
    stability: {
      title: "Stability, %", number: true, absent: facts.stability === null,
      key: (i) => facts.stability[i], text: (i) => String(facts.stability[i]),
    },
    nearest: {
      title: "Closest chosen",
      key: (i) => (here.size.nearest && here.size.nearest[i] >= 0 ? Math.abs(here.size.correlation[i]) : null),
      text: (i) => (columns.nearest.key(i) === null ? "–" : named(here.features[here.size.nearest[i]], here.size.correlation[i])),
    },
    redundant: {
      title: "Makes redundant",
      key: (i) => (here.position.has(i) && here.size.nearest ? (here.redundant.get(i) || []).length : null),
      text: (i) => {
        const list = here.redundant.get(i);
        if (!list) return "–";
        const first = list.slice(0, 3).map((j) => named(j, here.size.correlation[j])).join(", ");
        return list.length > 3 ? `${list.length}: ${first}, …` : first;
      },
    },
  };
  const names = Object.keys(columns).filter((column) => !columns[column].absent);

  function buildHead() {
    const row = byId("features").tHead.rows[0];
    for (const column of names) {
      const cell = document.createElement("th");
      cell.scope = "col";
      if (columns[column].number) cell.className = "number";
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = columns[column].title;
      button.addEventListener("click", () => {
        const same = sorting.column === column;
        sorting = { column, descending: same ? !sorting.descending : columns[column].key !== null };
        refresh();
      });
      cell.append(button);
      row.append(cell);
    }
  }

  function sortRows(rows) {
    const direction = sorting.descending ? -1 : 1;
    const column = columns[sorting.column];
    if (column.key === null) {
      return rows.sort((a, b) => {
        const left = column.text(a), right = column.text(b);
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

  function refresh() {
    const wanted = byId("filter").value.toLowerCase();
    if (wanted && lowered === null) lowered = facts.names.map((name) => name.toLowerCase());
    const all = byId("only").checked ? Array.from(here.features) : Array.from({ length: count }, (_, i) => i);
    shown = sortRows(wanted ? all.filter((i) => lowered[i].includes(wanted)) : all);
    page = 0;
    byId("features").tHead.rows[0].childNodes.forEach((cell, i) => {
      const sorted = names[i] === sorting.column;
      cell.setAttribute("aria-sort", sorted ? (sorting.descending ? "descending" : "ascending") : "none");
    });
    drawPage();
  }

  function drawPage() {
    const rows = shown.slice(page * perPage, (page + 1) * perPage).map((i) => {
      const row = document.createElement("tr");
      if (here.position.has(i)) row.className = "in";
      for (const column of names) {
        const cell = document.createElement(column === "name" ? "th" : "td");
        cell.textContent = columns[column].text(i);
        cell.className = columns[column].number ? "number" : "name";
        if (column === "name") cell.scope = "row";
        row.append(cell);
      }
      return row;
    });
    byId("features").tBodies[0].replaceChildren(...rows);
    const pages = Math.max(1, Math.ceil(shown.length / perPage));
    byId("page").textContent = `page ${page + 1} of ${pages}, ${shown.length.toLocaleString("en")} features`;
    byId("previous").disabled = page === 0;
    byId("next").disabled = page >= pages - 1;
  }

  // A group is chosen as a whole: any of its features shows it. Chosen ones come first, by gain.
  function showGroups() {
    if (facts.groups.length === 0) return;
    const chosen = (group) => here.position.has(group.features[0]);
    const gain = (group) => columns.gain.key(group.features[0]);
    const ordered = facts.groups.slice().sort((a, b) => chosen(b) - chosen(a) || gain(b) - gain(a));
    const rows = ordered.slice(0, perPage).map((group) => {
      const members = group.features.map((i) => facts.names[i]).join(", ");
      const row = document.createElement("tr");
      const texts = [group.name, chosen(group) ? "chosen" : "left out", columns.gain.text(group.features[0]), members];
      texts.forEach((text, i) => {
        const cell = document.createElement(i === 0 ? "th" : "td");
        cell.textContent = text;
        if (i === 0) cell.scope = "row";
        if (i === 2) cell.className = "number";
        row.append(cell);
      });
      return row;
    });
    byId("groups").tBodies[0].replaceChildren(...rows);
    const more = ordered.length - rows.length;
    byId("more").textContent = more > 0 ? `${more.toLocaleString("en")} more groups are not shown.` : "";
  }

  function showSize(index) {
    here = atSize(index);
    const text = `${here.features.length.toLocaleString("en")} features explain ${here.size.explained}`;
    byId("state").textContent = text;
    byId("size").setAttribute("aria-valuetext", text);
    byId("partial").hidden = here.size.gains !== null && here.size.nearest !== null;
    byId("names").value = Array.from(here.features, (i) => facts.names[i]).join("\n");
    Array.from(byId("points").children).forEach((point, i) => point.classList.toggle("now", i === index));
    showGroups();
    refresh();
  }

  buildHead();
  byId("size").addEventListener("input", (event) => showSize(Number(event.target.value)));
  byId("filter").addEventListener("input", refresh);
  byId("only").addEventListener("change", refresh);
  byId("previous").addEventListener("click", () => { page -= 1; drawPage(); });
  byId("next").addEventListener("click", () => { page += 1; drawPage(); });
  showSize(Number(byId("size").value));
})();
