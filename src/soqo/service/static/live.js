// Live pages: values arrive as server-sent events and are written as text; charts are drawn by Plotly.
"use strict";

(() => {
  const page = document.currentScript.dataset.page;
  const byId = (id) => document.getElementById(id);
  const connection = byId("connection");
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // ---- numbers and times

  function number(value, digits = 4) {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e6 || size < 1e-4)) return value.toExponential(2).replace("-", "−");
    return value.toLocaleString("en", { maximumSignificantDigits: digits }).replace("-", "−");
  }

  function saving(status) {
    if (status.cost === null || !(status.follow_cost > 0)) return null;
    return 1 - status.cost / status.follow_cost;
  }

  function showSaving(element, share) {
    element.textContent = share === null ? "–" : `${(100 * share).toFixed(share > -1 ? 1 : 0).replace("-", "−")} %`;
    element.classList.toggle("gain", share !== null && share > 0);
    element.classList.toggle("loss", share !== null && share < 0);
  }

  function age(text) {
    if (!text) return "never";
    const seconds = Math.max(0, (Date.now() - Date.parse(text)) / 1000);
    if (seconds < 2) return "now";
    if (seconds < 120) return `${Math.round(seconds)} s ago`;
    if (seconds < 7200) return `${Math.round(seconds / 60)} min ago`;
    if (seconds < 172800) return `${Math.round(seconds / 3600)} h ago`;
    return `${Math.round(seconds / 86400)} days ago`;
  }

  function setState(element, state) {
    element.className = `state ${state}`;
    element.textContent = state;
  }

  // ---- the stream, which the browser opens again after a loss; after a refusal we open a new one

  function follow(address, receive) {
    let source = null;
    function open() {
      source = new EventSource(address);
      source.onopen = () => {
        connection.className = "live";
        connection.textContent = "live";
      };
      source.onmessage = (message) => receive(JSON.parse(message.data));
      source.onerror = () => {
        connection.className = "lost";
        connection.textContent = "connection lost, trying again";
        if (source.readyState === EventSource.CLOSED) setTimeout(open, 3000);
      };
    }
    open();
    addEventListener("pagehide", () => source.close());
  }

  // ---- all plants

  function startFleet() {
    const rows = new Map();
    for (const row of document.querySelectorAll("[data-plant]")) {
      const cells = Object.fromEntries([...row.querySelectorAll("[data-field]")].map((cell) => [cell.dataset.field, cell]));
      rows.set(row.dataset.plant, cells);
    }
    follow("/stream", ({ plants }) => {
      if (plants.some((plant) => !rows.has(plant.name)) && plants.length <= 200 && !location.search) {
        location.reload(); // a new plant
        return;
      }
      const states = {};
      let cost = 0, followed = 0, alarms = 0;
      for (const plant of plants) {
        states[plant.state] = (states[plant.state] || 0) + 1;
        if (plant.cost !== null) {
          cost += plant.cost;
          followed += plant.follow_cost;
        }
        alarms += plant.alarms;
        const cells = rows.get(plant.name);
        if (!cells) continue;
        setState(cells.state.firstElementChild, plant.state);
        cells.round.textContent = plant.round;
        cells.alarms.textContent = plant.alarms;
        cells.missed.textContent = plant.missed;
        cells.last_call.textContent = age(plant.last_call);
        showSaving(cells.saving, saving(plant));
      }
      const words = Object.entries(states).map(([state, count]) => `${count} ${state}`).join(", ");
      const share = followed > 0 ? `; together they save ${(100 * (1 - cost / followed)).toFixed(1).replace("-", "−")} % against following v` : "";
      const text = `${plants.length} ${plants.length === 1 ? "plant" : "plants"}: ${words}${plants.length > 1 ? share : ""}` +
        `${alarms ? `; ${alarms} alarms so far` : ""}.`;
      if (byId("summary") && byId("summary").textContent !== text) byId("summary").textContent = text;
    });
  }

  // ---- one plant

  const WINDOW = 300;
  const MAX_PANELS = 12;
  const rounds = new Map();
  let panels = [];
  let latest = null;
  let drawing = false;

  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  }

  // Where the readings are: what was expected in the first rounds may be far off, and would hide everything else.
  function rangeOfReadings(shown) {
    const values = shown.map((one) => one.y).filter((y) => y !== null);
    if (values.length < 10) return undefined;
    const low = Math.min(...values), high = Math.max(...values);
    const margin = 0.15 * (high - low || 1);
    return [low - margin, high + margin];
  }

  function layout(changes, first, last, range) {
    const axis = { gridcolor: color("line"), zeroline: false, linecolor: color("line"), automargin: true, fixedrange: true };
    return {
      margin: { l: 8, r: 8, t: 6, b: 6 }, showlegend: false, hovermode: "x unified", dragmode: false,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", size: 12, color: color("text") },
      hoverlabel: { bgcolor: color("card"), font: { color: color("text") } },
      xaxis: { ...axis, nticks: 6, range: [first, Math.max(last, first + 1)] }, yaxis: { ...axis, nticks: 5, range }, ...changes,
    };
  }

  const OPTIONS = { displayModeBar: false, responsive: true };

  function makePanels() {
    const holder = byId("actuators");
    panels = [...byId("table").rows].slice(0, MAX_PANELS).map((row) => {
      const figure = document.createElement("figure");
      const caption = document.createElement("figcaption");
      const chart = document.createElement("div");
      const unit = row.dataset.unit;
      caption.textContent = unit ? `${row.cells[0].textContent}, ${unit}` : row.cells[0].textContent;
      chart.className = "chart";
      chart.setAttribute("role", "img");
      chart.setAttribute("aria-label", `Minimizer and position of ${row.cells[0].textContent}`);
      figure.append(caption, chart);
      holder.append(figure);
      const limit = (text) => (text === "" ? null : Number(text));
      return { chart, low: limit(row.dataset.low), high: limit(row.dataset.high) };
    });
    const all = byId("table").rows.length;
    if (all > MAX_PANELS) {
      const note = document.createElement("p");
      note.className = "note";
      note.textContent = `The first ${MAX_PANELS} of ${all} actuators; the table below has all.`;
      holder.after(note);
    }
  }

  function draw() {
    drawing = false;
    if (!latest || !window.Plotly) return;
    const shown = [...rounds.values()].sort((a, b) => a.round - b.round);
    const number = shown.map((one) => one.round);
    if (!number.length) return;
    const ends = [number[0], number[number.length - 1]];
    panels.forEach((panel, k) => {
      const lines = [
        { x: number, y: shown.map((one) => one.v[k]), name: "v", line: { color: color("minimizer"), width: 1.2, shape: "hv" } },
        { x: number, y: shown.map((one) => (one.applied || one.x)[k]), name: "x", line: { color: color("position"), width: 2, shape: "hv" } },
      ].map((line) => ({ ...line, mode: "lines" }));
      const shapes = [panel.low, panel.high].filter((limit) => limit !== null).map((limit) => ({
        type: "line", xref: "paper", x0: 0, x1: 1, y0: limit, y1: limit, line: { color: color("limit"), width: 1, dash: "dot" },
      }));
      Plotly.react(panel.chart, lines, layout({ shapes }, ...ends), OPTIONS);
    });
    Plotly.react(byId("readings"), [
      { x: number, y: shown.map((one) => one.expected), name: "expected", mode: "lines", line: { color: color("expected"), width: 1.6 } },
      { x: number, y: shown.map((one) => one.y), name: "reading", mode: "markers", marker: { color: color("reading"), size: 4 } },
    ], layout({}, ...ends, rangeOfReadings(shown)), OPTIONS);
    let sum = 0;
    const sums = shown.map((one) => (one.saving === null ? sum : (sum += one.saving)));
    Plotly.react(byId("savings"), [
      { x: number, y: sums, name: "saving", mode: "lines", fill: "tozeroy", fillcolor: "rgba(0,158,115,0.12)", line: { color: color("good"), width: 2 } },
    ], layout({}, ...ends), OPTIONS);
  }

  function drawSoon() {
    if (!drawing) {
      drawing = true;
      requestAnimationFrame(draw);
    }
  }

  function showHealth(health) {
    byId("health").hidden = !health;
    if (!health) return;
    const word = health.wrong ? "wrong" : health.since ? "check" : "order";
    byId("health").className = `state ${word}`;
    byId("health").textContent = { wrong: "something is wrong", check: "to check", order: "in order" }[word];
    for (const name of ["calibrated", "rejected", "offset", "deviation"]) {
      byId(name).textContent = health[name] === null ? "–" : `${number(100 * health[name], 2)} %`;
    }
  }

  function showFacts({ status, explain, health, known, base_load }) {
    showHealth(health);
    setState(byId("state"), status.state);
    if (byId("explain").textContent !== explain) byId("explain").textContent = explain;
    byId("round").textContent = status.round;
    byId("missed").textContent = status.missed;
    byId("alarms").textContent = status.alarms;
    byId("cost").textContent = number(status.cost);
    byId("base_load").textContent = number(base_load);
    byId("noise").textContent = known.noise === undefined ? "–" : `± ${number(known.noise, 3)}`;
    showSaving(byId("saving"), saving(status));
    [...byId("table").rows].forEach((row, k) => {
      const cell = (field) => row.querySelector(`[data-field="${field}"]`);
      const unit = row.dataset.unit ? ` ${row.dataset.unit}` : "";
      cell("x").textContent = number(status.x[k]) + unit;
      cell("v").textContent = status.v ? number(status.v[k]) + unit : "–";
      const spread = known.offset_deviation && known.offset[k] ? ` ± ${number(known.offset_deviation[k], 2)}` : "";
      cell("offset").textContent = known.offset ? number(known.offset[k], 3) + spread + unit : "–";
      const deviation = known.uncertainty && known.uncertainty[k] !== null ? ` ± ${number(known.uncertainty[k], 2)}` : "";
      cell("curvature").textContent = known.estimate ? number(known.estimate[k][k], 3) + deviation : "–";
    });
    const matrix = byId("matrix");
    matrix.replaceChildren(...(known.estimate || []).map((entries) => {
      const row = document.createElement("tr");
      row.append(...entries.map((entry) => Object.assign(document.createElement("td"), { textContent: number(entry, 3) })));
      return row;
    }));
  }

  function showEvents(events) {
    byId("events").replaceChildren(...events.map((event) => {
      const item = document.createElement("li");
      const time = Object.assign(document.createElement("time"), { textContent: new Date(event.time).toLocaleTimeString(), dateTime: event.time });
      const kind = Object.assign(document.createElement("b"), { textContent: event.kind });
      item.append(time, kind, `round ${event.round}: ${event.message}`);
      return item;
    }));
    if (!events.length) byId("events").append(Object.assign(document.createElement("li"), { textContent: "None so far.", className: "note" }));
  }

  function showRounds() {
    const shown = [...rounds.values()].sort((a, b) => b.round - a.round).slice(0, 20);
    byId("rounds").replaceChildren(...shown.map((one) => {
      const row = document.createElement("tr");
      const list = (values) => values.map((value) => number(value)).join("  ");
      [one.round, list(one.v), list(one.applied || one.x), number(one.y), number(one.expected)].forEach((text, k) => {
        row.append(Object.assign(document.createElement("td"), { textContent: text, className: k === 1 || k === 2 ? "" : "number" }));
      });
      return row;
    }));
  }

  function startPlant() {
    makePanels();
    const name = document.querySelector("[data-plant]").dataset.plant;
    follow(`/plants/${encodeURIComponent(name)}/stream`, (message) => {
      latest = message;
      for (const one of message.rounds) rounds.set(one.round, one);
      for (const round of rounds.keys()) if (round <= message.status.round - WINDOW) rounds.delete(round);
      showFacts(message);
      showEvents(message.events);
      showRounds();
      drawSoon();
    });
    dark.addEventListener("change", drawSoon);
    setInterval(() => {
      if (latest) byId("last_call").textContent = age(latest.status.last_call);
    }, 1000);
  }

  if (page === "fleet") startFleet();
  if (page === "plant") startPlant();
})();
