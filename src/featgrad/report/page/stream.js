// The pictures and tables of a stream's page.

const kinds = { alarm: "predictions became worse", shift: "the set had changed beyond chance" };
const alarms = facts.events.filter((event) => event.kind !== "choice");
const rowText = (row) => (row >= 1e6 ? `${row / 1e6} M` : row.toLocaleString("en"));

function drawAlarms(drawn, x, top, bottom) {
  for (const { row, kind } of alarms) drawn.append(line(x(row), top, x(row), bottom, "chosen", `row ${row.toLocaleString("en")}: ${kinds[kind]}`));
}

function drawExplained(width) {
  const known = facts.explained.flatMap((one, i) => (one.value === null ? [] : [{ ...one, row: facts.edges[i] }]));
  const ends = known.flatMap((one) => [one.low, one.high]);
  const range = [Math.max(-1, Math.min(0, ...ends)), Math.min(1.05, Math.max(0.05, ...ends) * 1.05)];
  const rows = [0, facts.edges.at(-1)];
  const [drawn, { x, y }] = axes(width, 284, [52, 34, 24, 40], range, { x: rows, shown: (value) => inPercent(value, 0), across: rowText });
  const along = (key) => known.map((one) => `${x(one.row)},${y(one[key])}`);
  drawn.append(
    svg("polygon", { class: "band", points: [...along("high"), ...along("low").toReversed()].join(" ") }),
    svg("polyline", { class: "line", points: along("value").join(" ") }),
    written(4, 16, "explained ↑"),
    written(width / 2, 280, "rows", "middle"),
  );
  drawAlarms(drawn, x, 34, 244);
  const step = known.length > 1 ? x(known[1].row) - x(known[0].row) : 10;
  for (const one of known) {
    drawn.append(svg("rect", { class: "touch", x: x(one.row) - step / 2, width: Math.max(step, 1), y: 34, height: 210 }, `row ${one.row.toLocaleString("en")}: ${one.text}`));
  }
  drawn.setAttribute("aria-label", `Explained fraction over ${inCount(rows[1], "row")}`);
  return drawn;
}

// A name and a bar for each feature, whose opacity is its score at the time.
function drawTimeline(width) {
  const [step, bar, last, top] = [40, 14, facts.edges.at(-1), 8];  // under the button
  const height = top + step * facts.names.length;
  const [left, right] = [52, width - 24];
  const x = (row) => left + ((right - left) * row) / last;
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${height + 24}`, width, height: height + 24, class: "chart", role: "img", "aria-label": `${inCount(facts.names.length, "feature")} over ${inCount(last, "row")}` });
  const strongest = Math.max(1e-300, ...facts.scores.flat());
  facts.names.forEach((name, feature) => {
    drawn.append(written(left, top + step * feature + 18, name));
    facts.scores[feature].forEach((score, time) => {
      if (score === null) return;
      const place = { x: x(facts.edges[time]), y: top + step * feature + 23, width: x(facts.edges[time + 1]) - x(facts.edges[time]), height: bar };
      const title = `${name}, row ${facts.edges[time].toLocaleString("en")}: ${inPercent(score)}`;
      drawn.append(svg("rect", { ...place, class: "plus", "fill-opacity": (0.1 + (0.9 * Math.max(score, 0)) / strongest).toFixed(2) }, title));
    });
  });
  drawAlarms(drawn, x, 0, height);
  drawn.append(written(left, height + 18, "row 0"), written(right, height + 18, `row ${last.toLocaleString("en")}`, "end"));
  return drawn;
}

function eventRow(cells) {
  const list = (names) => names.length === 0 ? ["–"] : names.flatMap((name, i) => [...(i ? [", "] : []), breakable(name)]);
  return element("tr", {}, ...Object.entries(cells).map(([label, shown]) => element("td", { "data-label": label }, ...list([shown].flat()))));
}

function listEvents() {
  const alarmRow = ({ row, kind, more, less }) => eventRow({ Row: row.toLocaleString("en"), Alarm: kinds[kind], "Explain more since": more, "Explain less since": less });
  byId("alarms").append(...alarms.map(alarmRow));
  if (!alarms.length) byId("alarms").append(element("tr", {}, element("td", { colspan: 4 }, "no alarms")));
  const choices = facts.events.filter((event) => event.kind === "choice");
  byId("choices").hidden = !choices.length;
  byId("choices").querySelector("summary").append(inCount(choices.length, "change"), " of the set");
  byId("choices").querySelector("tbody").append(...choices.map(({ row, more, less }) => eventRow({ Row: row.toLocaleString("en"), Entered: more, Left: less })));
  const rows = () => facts.events.map(({ row, kind, more, less }) => [row, kind, more.join("; "), less.join("; ")]);
  saveRows("save-events", "events.csv", () => [["row", "kind", "more", "less"], ...rows()]);
}

picture("curve", drawExplained);
picture("features-over-time", drawTimeline);
listEvents();
byId("chosen").append(...facts.now.map(([name, score]) => element("tr", {}, element("td", {}, breakable(name)), element("td", {}, inPercent(score)))));
listContents();
