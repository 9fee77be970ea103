// Charts: panels with Plotly, with controls for curves, statistic, intervals and scale. page.js defines what they share.

const DASHES = { "-": "solid", "--": "dash", ":": "dot", "-.": "dashdot", ".": "solid" };
const BEYOND = 5; // as in the files: a curve above this multiple of the median peak leaves the axes
const LABEL_GAP = 15; // pixels between direct labels
const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

function format(value) {
  if (!Number.isFinite(value)) return "∞";
  const [digits, exponent] = value.toExponential(2).split("e");
  if (Math.abs(exponent) < 4) return String(Number(value.toPrecision(3))).replace("-", "−");
  const power = [...String(Number(exponent))].map((sign) => SUPERSCRIPTS[sign]).join("");
  return `${String(Number(digits)).replace("-", "−")}·10${power}`;
}

// The ticks of a logarithmic axis: powers of ten, with twice and five times them where there are few.
function logTicks([low, high]) {
  const powers = Array.from({ length: Math.ceil(high) - Math.floor(low) + 1 }, (_, k) => 10 ** (Math.floor(low) + k));
  const values = powers.flatMap((power) => (high - low > 2.5 ? [power] : [power, 2 * power, 5 * power]));
  const tickvals = values.filter((value) => value >= 10 ** low && value <= 10 ** high);
  return { tickvals, ticktext: tickvals.map((value) => format(value).replace(/^1·/, "")) };
}

// A color that is dark enough for text on a light page, and light enough on a dark one.
function mix(color, text) {
  const part = (code, k) => parseInt(code.slice(k, k + 2), 16);
  const mixed = [1, 3, 5].map((k) => Math.round(0.72 * part(color, k) + 0.28 * part(text, k)));
  return `rgb(${mixed.join(", ")})`;
}

// ---- a chart: panels that share the choice of curves, of the statistic and of the scale --------------------------

class Chart {
  constructor(node, spec) {
    this.node = node;
    this.spec = spec;
    this.statistic = spec.statistic;
    this.scale = spec.panels.some((panel) => panel.log) ? "log" : "linear";
    this.early = false;
    this.intervals = false; // bands hide curves: the reader asks for them
    this.off = new Set(spec.panels.flatMap((panel) => panel.curves.filter((c) => !c.shown).map((c) => c.label)));
    this.panels = all(".panel", node).map((place) => new Panel(this, place, spec.panels[place.dataset.panel]));
    this.upgradeLegend();
    this.addControls();
  }

  redraw() {
    for (const panel of this.panels) panel.draw();
  }

  upgradeLegend() {
    for (const item of all(".legend li", this.node)) {
      const label = item.dataset.curve;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...item.childNodes);
      const press = () => button.setAttribute("aria-pressed", String(!this.off.has(label)));
      button.addEventListener("click", () => {
        if (!this.off.delete(label)) this.off.add(label);
        press();
        this.redraw();
      });
      press();
      item.hidden = false;
      item.append(button);
    }
  }

  switchButton(text, title, on, choose) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.title = title;
    button.setAttribute("aria-pressed", String(on));
    button.addEventListener("click", () => {
      const now = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(now));
      choose(now);
      this.redraw();
    });
    return button;
  }

  addControls() {
    const place = this.node.querySelector(".controls");
    const add = (name, choices, current, choose) => {
      const group = document.createElement("span");
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", name);
      const buttons = choices.map(([value, text, title]) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = text;
        button.title = title;
        button.setAttribute("aria-pressed", String(value === current));
        button.addEventListener("click", () => {
          choose(value);
          for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
          this.redraw();
        });
        return button;
      });
      group.append(...buttons);
      place.append(group);
    };
    const both = this.spec.panels.every((panel) => panel.curves.every((curve) => curve.mean && curve.median));
    if (both && this.panels.some((panel) => !panel.fixed)) {
      const choices = [
        ["mean", "Mean", "Mean over the runs, with its 95 % bootstrap interval"],
        ["median", "Median", "Median over the runs, with its 95 % bootstrap interval"],
      ];
      add("Statistic", choices, this.statistic, (value) => (this.statistic = value));
    }
    const scales = [
      ["linear", "Linear", "Linear axis; a curve far above the others leaves it"],
      ["log", "Log", "Logarithmic axis, which leaves out values that are not positive"],
    ];
    if (this.spec.panels.some((panel) => panel.curves.some((curve) => curve[this.statistic][1].some((end) => end !== null))))
      place.append(this.switchButton("Intervals", `${this.spec.band} over the runs`, false, (on) => (this.intervals = on)));
    if (this.panels.some((panel) => panel.spec.explored && !panel.fixed)) {
      const told = "Show the rounds in which SCaLE explores, and as many as three times that after them";
      place.append(this.switchButton("First rounds", told, false, (on) => (this.early = on)));
    }
    add("Vertical axis", scales, this.scale, (value) => (this.scale = value));
  }
}

class Panel {
  constructor(chart, place, spec) {
    Object.assign(this, { chart, place, spec });
    this.fixed = place.dataset.statistic;
    this.plot = place.querySelector(".plot");
    this.node = null;
    this.index = -1;
  }

  // Where there is no space for labels beside the curves, the legend names them.
  get labels() {
    return this.place.hasAttribute("data-labels") && this.plot.clientWidth >= 460;
  }

  get statistic() {
    return this.fixed || this.chart.statistic;
  }

  get curves() {
    return this.spec.curves.filter((curve) => !this.chart.off.has(curve.label));
  }

  async draw() {
    if (!this.node) return; // it is drawn when it comes into view
    const Plotly = await loadPlotly();
    const title = this.place.querySelector(".statistic");
    if (title) title.textContent = this.statistic;
    const range = this.range();
    const log = this.chart.scale === "log";
    await Plotly.react(this.node, this.traces(range, log), this.layout(range, log), {
      displayModeBar: false,
      responsive: true,
      doubleClick: "reset+autosize",
    });
    if (!this.plot.classList.contains("drawn")) this.node.on("plotly_hover", ({ points }) => this.tell(points[0].x));
    this.plot.classList.add("drawn");
  }

  start() {
    if (this.node) return;
    const told = this.plot.getAttribute("aria-label");
    this.plot.removeAttribute("role");
    this.node = document.createElement("div");
    this.node.className = "touch";
    this.node.tabIndex = 0;
    this.node.setAttribute("role", "application");
    this.node.setAttribute("aria-roledescription", "chart");
    this.node.setAttribute("aria-label", `${told} Arrow keys read the values.`);
    this.spoken = document.createElement("p");
    this.spoken.className = "unseen";
    this.spoken.setAttribute("aria-live", "polite");
    this.readout = document.createElement("ul");
    this.readout.className = "readout";
    this.readout.setAttribute("aria-hidden", "true"); // the arrow keys tell the same
    this.plot.append(this.node, this.spoken);
    this.plot.after(this.readout);
    this.node.addEventListener("keydown", (event) => this.step(event));
    this.node.addEventListener("blur", () => window.Plotly && window.Plotly.Fx.unhover(this.node));
    return this.draw();
  }

  // The values at an x stay below the chart until another x is chosen.
  tell(x) {
    const line = (text, color) => {
      const item = document.createElement("li");
      if (color) item.append(Object.assign(document.createElement("i"), { style: `background: ${color}` }));
      item.append(text);
      return item;
    };
    const rows = this.curves.filter((curve) => curve.x.includes(x)).map((curve) => {
      const [value, low, high] = curve[this.statistic].map((values) => values[curve.x.indexOf(x)]);
      const ends = low === null ? "" : ` (${format(low)} to ${format(high ?? NaN)})`;
      return line(`${curve.label}: ${format(value ?? NaN)}${ends}`, variable(curve.color));
    });
    this.readout.replaceChildren(line(`${this.spec.xLabel} = ${x}`), ...rows);
  }

  // The arrow keys move the line to the next or the previous x, and tell the values to screen readers.
  step(event) {
    const move = { ArrowRight: 1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[event.key];
    const [first] = this.curves;
    if (!move || !first || !window.Plotly) return;
    event.preventDefault();
    this.index = Math.min(Math.max(this.index + move, 0), first.x.length - 1);
    const x = first.x[this.index];
    window.Plotly.Fx.hover(this.node, { xval: this.spec.ticks.length ? Math.log10(x) : x, yval: 0 }, "xy");
    this.tell(x); // Plotly reports no hover that a script asks for
    const values = this.curves.map((c) => `${c.label} ${format(c[this.statistic][0][c.x.indexOf(x)] ?? NaN)}`);
    this.spoken.textContent = `${this.spec.xLabel} ${x}: ${values.join(", ")}`;
  }

  // The last x that is shown, or Infinity.
  get end() {
    return this.chart.early && this.spec.explored ? 4 * this.spec.explored : Infinity;
  }

  range() {
    const peaks = [];
    let low = 0;
    let least = Infinity; // the smallest positive value, for logarithmic axes
    for (const curve of this.curves) {
      const values = curve[this.statistic][0].filter((value, k) => value !== null && curve.x[k] <= this.end);
      if (!values.length) continue;
      peaks.push(Math.max(...values));
      low = Math.min(low, ...values);
      least = Math.min(least, ...values.filter((value) => value > 0));
    }
    if (!peaks.length) return { low: 0, high: 1, least: 0.1, most: 1 };
    const sorted = peaks.map(Math.abs).sort((a, b) => a - b);
    const half = (sorted.length - 1) / 2;
    const limit = (BEYOND * (sorted[Math.floor(half)] + sorted[Math.ceil(half)])) / 2;
    const inside = peaks.filter((peak) => peak <= limit);
    const top = Math.max(...(inside.length ? inside : peaks));
    low = Math.max(low, -limit);
    const span = top - low || 1;
    const most = Math.max(...peaks);
    return { low: low < 0 ? low - 0.03 * span : low, high: top + 0.05 * span, least: Math.min(least, most), most };
  }

  traces(range, log) {
    const bands = this.chart.intervals ? this.curves.map((curve) => this.band(curve, range, log)) : [];
    const lines = this.curves.map((curve) => {
      const [middle] = curve[this.statistic];
      const color = variable(curve.color);
      const best = middle.indexOf(Math.min(...middle.filter((value) => value !== null)));
      const rings = {
        color,
        size: middle.map((_, k) => (k === best ? 13 : 6)),
        symbol: middle.map((_, k) => (k === best ? "circle-open" : "circle")),
        line: { width: 2, color },
      };
      return {
        x: curve.x,
        y: middle,
        name: curve.label,
        mode: curve.dash === "." ? "markers" : this.spec.marks ? "lines+markers" : "lines",
        line: { color, dash: DASHES[curve.dash], width: 2 },
        ...(this.spec.marks ? { marker: rings } : {}),
        hoverinfo: "none", // the values are told below the chart, where they cover nothing
      };
    });
    return [...bands, ...lines];
  }

  band(curve, range, log) {
    const [, low, high] = curve[this.statistic];
    const good = [...curve.x.keys()].filter((k) => low[k] !== null && high[k] !== null && (!log || high[k] > 0));
    const bottom = good.map((k) => (log ? Math.max(low[k], 0.3 * range.least) : low[k]));
    const x = good.map((k) => curve.x[k]);
    return {
      x: [...x, ...x.slice().reverse()],
      y: [...bottom, ...good.map((k) => high[k]).reverse()],
      fill: "toself",
      fillcolor: `${variable(curve.color)}1c`,
      line: { width: 0 },
      mode: "lines",
      hoverinfo: "skip",
    };
  }

  layout(range, log) {
    const { spec } = this;
    const text = variable("--text");
    const muted = variable("--muted");
    const line = variable("--line");
    const height = Math.round(Math.min(460, Math.max(240, (this.labels ? 0.44 : 0.66) * this.plot.clientWidth)));
    const ends = log ? [Math.log10(0.6 * range.least), Math.log10(1.6 * range.most)] : [range.low, range.high];
    const axis = { gridcolor: line, zerolinecolor: muted, linecolor: line, tickcolor: line, automargin: false };
    const small = { size: 11.5, color: muted };
    const shapes = [];
    const annotations = [];
    if (spec.explored) {
      const shade = { type: "rect", x0: 1, x1: spec.explored, y0: 0, y1: 1, yref: "paper", line: { width: 0 } };
      shapes.push({ ...shade, fillcolor: line, opacity: 0.45, layer: "below" });
      const told = { text: `← SCaLE explores, t ≤ ${spec.explored}`, showarrow: false, font: small };
      annotations.push({ ...told, x: spec.explored, y: 1, yref: "paper", xanchor: "left", yanchor: "top" });
    }
    const margin = { l: 68, r: this.labels ? 178 : 28, t: 10, b: 46 };
    if (this.labels) annotations.push(...this.directLabels(ends, log, height - margin.t - margin.b));
    return {
      height,
      margin,
      shapes,
      annotations,
      showlegend: false,
      hovermode: "x unified",
      dragmode: this.labels || matchMedia("(pointer: coarse)").matches ? false : "zoom",
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: text },
      xaxis: {
        ...axis,
        title: { text: spec.xLabel, font: small, standoff: 6 },
        type: spec.ticks.length ? "log" : "linear",
        ...(this.end < Infinity ? { range: [1, this.end] } : {}),
        ...(spec.ticks.length ? { tickvals: spec.ticks, ticktext: spec.ticks.map(String) } : {}),
        fixedrange: this.labels,
        showspikes: true,
        spikethickness: 1,
        spikecolor: muted,
        spikedash: "dot",
        spikemode: "across",
      },
      yaxis: {
        ...axis,
        title: { text: spec.yLabel, font: small, standoff: 4 },
        type: log ? "log" : "linear",
        range: ends,
        fixedrange: this.labels,
        exponentformat: "power",
        showexponent: log ? "all" : "last",
        ...(log ? logTicks(ends) : { nticks: 6 }),
      },
    };
  }

  directLabels([low, high], log, height) {
    const share = (value) => ((log ? Math.log10(value) : value) - low) / (high - low);
    const ends = this.curves.map((curve) => {
      const value = curve[this.statistic][0].at(-1);
      const place = value === null || (log && value <= 0) ? (value === null ? 1 : 0) : share(value);
      return { curve, place: Math.min(Math.max(place, 0), 1) * height };
    });
    ends.sort((a, b) => a.place - b.place);
    // Two sweeps: upward so that labels do not overlap, then downward so that none leaves the top.
    for (let k = 1; k < ends.length; k++) ends[k].place = Math.max(ends[k].place, ends[k - 1].place + LABEL_GAP);
    let limit = height;
    for (let k = ends.length - 1; k >= 0; k--) {
      ends[k].place = Math.min(ends[k].place, limit);
      limit = ends[k].place - LABEL_GAP;
    }
    return ends.map(({ curve, place }) => ({
      text: curve.label.replace("ξ = ", ""), // the legend has it in full
      font: { color: mix(variable(curve.color), variable("--text")), size: 12 },
      x: 1,
      xref: "paper",
      xanchor: "left",
      xshift: 4,
      y: place / height,
      yref: "paper",
      yanchor: "middle",
      showarrow: false,
    }));
  }
}
