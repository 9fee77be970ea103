// What the scripts of the page share, folds, and the start. Without scripts, or in a browser that cannot decompress, all
// tables and the files of figures remain. Nothing is fetched: Plotly and the numbers are in the page, compressed.

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// ---- folds: a link into a fold opens it ---------------------------------------------------------------------------

function reveal() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  // A figure with several settings opens with the first of them.
  const first = target.matches("details.group") && target.querySelector(":scope > details.fold");
  if (first && !target.querySelector(":scope > details.fold[open]")) first.open = true;
  target.scrollIntoView();
}

function addFoldButton() {
  const place = document.getElementById("folds");
  if (!place) return;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Open all folds";
  button.addEventListener("click", () => {
    const folds = all("main details");
    const open = folds.some((fold) => !fold.open);
    for (const fold of folds) fold.open = open;
    button.textContent = open ? "Close all folds" : "Open all folds";
  });
  place.append(button);
}

// ---- data -----------------------------------------------------------------------------------------------------------

async function inflate(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

let plotly = null;
function loadPlotly() {
  plotly ??= inflate("plotly").then((code) => {
    const script = document.createElement("script");
    script.textContent = code;
    document.head.append(script);
    return window.Plotly;
  });
  return plotly;
}

// ---- start ----------------------------------------------------------------------------------------------------------

async function start() {
  if (!window.DecompressionStream || !document.getElementById("charts")) return;
  const specs = JSON.parse(await inflate("charts"));
  const charts = all("[data-chart]").map((node) => new Chart(node, specs[node.dataset.chart]));
  const panels = new Map(charts.flatMap((chart) => chart.panels.map((panel) => [panel.place, panel])));
  // A fold that is closed does not intersect, so that its charts are drawn when it is opened.
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) panels.get(target).start();
  }, { rootMargin: "200px" });
  for (const place of panels.keys()) observer.observe(place);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const chart of charts) chart.redraw();
  });
}

addEventListener("hashchange", reveal);
addFoldButton();
reveal();
start();
