// A surface in three dimensions, which replaces its picture when the reader asks for it.

class Surface {
  constructor(node, spec) {
    Object.assign(this, { node, spec });
    this.plot = node.querySelector(".plot");
    this.button = document.createElement("button");
    this.button.type = "button";
    this.button.textContent = "Turn it in 3-D";
    this.button.addEventListener("click", () => this.toggle());
    node.prepend(this.button);
  }

  async toggle() {
    const Plotly = await loadPlotly();
    if (this.touch) {
      Plotly.purge(this.touch);
      this.touch.remove();
      this.touch = null;
      this.plot.classList.remove("drawn");
      this.button.textContent = "Turn it in 3-D";
      return;
    }
    this.touch = this.plot.appendChild(document.createElement("div"));
    this.touch.className = "touch";
    this.button.textContent = "Back to the picture";
    await this.draw();
    this.plot.classList.add("drawn");
  }

  async draw() {
    const { spec } = this;
    const axis = { color: variable("--muted"), gridcolor: variable("--line"), backgroundcolor: "rgba(0,0,0,0)" };
    const places = spec.points.map((set) => ({
      type: "scatter3d",
      mode: "markers",
      x: set.x,
      y: set.y,
      z: set.z,
      name: set.label,
      marker: { size: 3, color: variable(set.color) },
      hovertemplate: `${set.label}<br>reading %{z:.1f}<extra></extra>`,
    }));
    const range = [Math.min(...spec.points.flatMap((set) => set.z)), Math.max(...spec.z.flat())];
    const ground = {
      type: "surface",
      x: spec.x,
      y: spec.y,
      z: spec.z,
      showscale: false,
      opacity: 0.75,
      colorscale: [[0, variable("--line")], [1, variable(spec.color)]],
      hovertemplate: "hitting cost %{z:.1f}<extra></extra>",
    };
    const named = (text) => ({ ...axis, title: { text } });
    const scene = {
      xaxis: named(spec.axes[0]),
      yaxis: named(spec.axes[1]),
      zaxis: { ...named(spec.axes[2]), range },
      camera: { eye: { x: 0.8, y: -1.8, z: 0.8 } },
    };
    const layout = {
      scene,
      height: Math.round(Math.min(560, Math.max(320, 0.6 * this.plot.clientWidth))),
      margin: { l: 0, r: 0, t: 0, b: 0 },
      paper_bgcolor: "rgba(0,0,0,0)",
      font: { color: variable("--text"), size: 12 },
      showlegend: true,
      legend: { orientation: "h", y: 0 },
    };
    await window.Plotly.react(this.touch, [ground, ...places], layout, { displayModeBar: false, responsive: true });
  }

  redraw() {
    if (this.touch) this.draw();
  }
}
