// The page of `foretell serve`: it uses the API that /api/openapi.json describes, and nothing else.
"use strict";

const at = (id) => document.getElementById(id);
const make = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element && typeof value !== "string") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
};
const say = (text) => { at("said").textContent = text; };
const three = (value) => Number.isFinite(value) ? Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 }) : "–";

async function call(path, body, signal, method) {
  const sent = body === undefined ? { method: method ?? "GET" } : {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  };
  const response = await fetch(path, { ...sent, signal });
  if (response.status === 204) return null;
  const found = await response.json();
  if (!response.ok) throw Object.assign(new Error(found.error ?? `status ${response.status}`), { overload: found.overload });
  return found;
}
const path = (...parts) => "/api/" + parts.map(encodeURIComponent).join("/");

// --- the editor ---

const text = at("text");
let schema = null;
let checking = null;

function mark(faults) {
  const marks = at("marks");
  marks.replaceChildren();
  const bytes = new TextEncoder().encode(text.value);
  const decode = (from, to) => new TextDecoder().decode(bytes.slice(from, to));
  let reached = 0;
  const spans = faults.map((fault) => fault.span).filter(Boolean).sort((a, b) => a[0] - b[0]);
  for (const [from, to] of spans) {
    if (from < reached) continue;
    marks.append(decode(reached, from), make("mark", {}, decode(from, Math.max(to, from + 1))));
    reached = Math.max(to, from + 1);
  }
  marks.append(decode(reached), "\n");
  marks.scrollTop = text.scrollTop;
  marks.scrollLeft = text.scrollLeft;
  const select = ([from, to]) => {
    const [start, end] = [decode(0, from).length, decode(0, to).length];
    text.focus();
    text.setSelectionRange(start, end);
  };
  at("faults").replaceChildren(...faults.map((fault) => make("li", {},
    make("button", { type: "button", disabled: !fault.span, onclick: () => select(fault.span) },
      (fault.at ? `line ${fault.at[0]}: ` : "") + fault.message),
    fault.help ? make("p", { class: "help" }, fault.help) : "")));
  text.setAttribute("aria-invalid", faults.length > 0);
  at("run").disabled = faults.length > 0;
}

async function check() {
  checking?.abort();
  checking = new AbortController();
  try {
    const found = await call("/api/check", { text: text.value }, checking.signal);
    mark(found.faults);
    remember();
  } catch (error) {
    if (error.name !== "AbortError") mark([{ message: error.message }]);
  }
}

let soon = 0;
function changed() {
  clearTimeout(soon);
  soon = setTimeout(check, 250);
}
text.addEventListener("input", () => { changed(); suggest(false); });
text.addEventListener("scroll", () => {
  at("marks").scrollTop = text.scrollTop;
  at("marks").scrollLeft = text.scrollLeft;
});
new ResizeObserver(() => { at("marks").style.height = `${text.offsetHeight}px`; }).observe(text);

// The state of the page is its address: the scenario's text, deflated.
async function remember() {
  const stream = new Blob([text.value]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const code = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  history.replaceState(null, "", code.length < 20000 ? `#${code}` : "#");
}
async function recall() {
  if (location.hash.length < 2) return false;
  try {
    const code = atob(location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
    const stream = new Blob([Uint8Array.from(code, (c) => c.charCodeAt(0))]).stream();
    text.value = await new Response(stream.pipeThrough(new DecompressionStream("deflate-raw"))).text();
    return true;
  } catch {
    return false;
  }
}

// --- completion, from the schema ---

const words = at("words");
let chosen = 0;

/** The schema of a table of the scenario. */
function schemaOf(names) {
  let tables = [schema];
  for (const name of names) {
    tables = tables.flatMap((table) => [table, ...(table.anyOf ?? []), ...(table.oneOf ?? [])])
      .flatMap((table) => table.items ? [table.items] : [table])
      .map((table) => table.properties?.[name] ?? (typeof table.additionalProperties === "object" ? table.additionalProperties : null))
      .filter(Boolean);
  }
  return tables.flatMap((table) => [table, ...(table.anyOf ?? []), ...(table.oneOf ?? [])]);
}

function suggest(asked) {
  const before = text.value.slice(0, text.selectionStart);
  const line = before.slice(before.lastIndexOf("\n") + 1);
  const word = /^\s*([A-Za-z_]*)$/.exec(line);
  const header = [...before.matchAll(/^\s*\[\[?([^\]\n]+)\]\]?/gm)].at(-1);
  words.hidden = true;
  if (!schema || !word || (!asked && word[1].length < 2)) return;
  const names = header ? header[1].split(".").map((name) => name.trim().replaceAll('"', "")) : [];
  const known = new Map();
  for (const table of schemaOf(names)) {
    for (const [key, value] of Object.entries(table.properties ?? {})) {
      if (key.startsWith(word[1]) && key !== word[1]) known.set(key, value.description ?? "");
    }
  }
  if (known.size === 0) return;
  chosen = 0;
  words.replaceChildren(...[...known].slice(0, 40).map(([key, about], index) => make("li", {
    role: "option", id: `word-${index}`, "aria-selected": String(index === 0), "data-key": key,
    onmousedown: (event) => { event.preventDefault(); take(key, word[1]); },
  }, key, make("small", {}, about.split(/(?<=\.) |\n/)[0].slice(0, 90)))));
  const rows = before.split("\n").length;
  words.style.top = `${Math.min(rows * 21 + 8 - text.scrollTop, text.offsetHeight)}px`;
  words.style.left = `${Math.min(line.length * 8.4 + 8, text.offsetWidth / 2)}px`;
  words.dataset.word = word[1];
  words.hidden = false;
}
function take(key, word) {
  text.setRangeText(`${key.slice(word.length)} = `, text.selectionStart, text.selectionEnd, "end");
  words.hidden = true;
  changed();
}
text.addEventListener("blur", () => { words.hidden = true; });
text.addEventListener("keydown", (event) => {
  if (event.ctrlKey && event.code === "Space") { event.preventDefault(); suggest(true); return; }
  if (words.hidden) return;
  const options = [...words.children];
  if (event.key === "Escape") words.hidden = true;
  else if (event.key === "Enter") take(options[chosen].dataset.key, words.dataset.word);
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    options[chosen].setAttribute("aria-selected", "false");
    chosen = (chosen + (event.key === "ArrowDown" ? 1 : options.length - 1)) % options.length;
    options[chosen].setAttribute("aria-selected", "true");
    options[chosen].scrollIntoView({ block: "nearest" });
    text.setAttribute("aria-activedescendant", `word-${chosen}`);
  } else return;
  event.preventDefault();
});

// --- runs ---

const picked = new Set();
const followed = new Map();
let asked = null;

function row(run) {
  const over = !["waiting", "running"].includes(run.state);
  const share = run.share ?? 0;
  const words = {
    waiting: "waits for its turn",
    running: run.share === null || run.share === undefined ? "running" : `${Math.round(100 * share)} % of the simulated time, ${(run.requests ?? 0).toLocaleString("en")} requests`,
    done: "", failed: run.error, stopped: "stopped",
  }[run.state];
  return make("div", { class: "run", "data-id": run.id },
    make("input", {
      type: "checkbox", "aria-label": `Choose ${run.title}`, disabled: run.state !== "done", checked: picked.has(run.id),
      onchange: (event) => { event.target.checked ? picked.add(run.id) : picked.delete(run.id); at("compare").disabled = picked.size === 0 || picked.size > 4; },
    }),
    make("span", {}, make("b", {}, run.title), " ", make("span", { class: run.state === "failed" ? "wrong" : "" }, words)),
    make("span", {},
      run.state === "done" ? make("button", { type: "button", onclick: () => choose(run) }, "Ask") : "", " ",
      run.served ? make("button", { type: "button", onclick: () => remove(run, over) }, over ? "Remove" : "Stop") : ""),
    run.state === "running" ? make("progress", { class: "more", max: "1", value: String(share), "aria-label": `Progress of ${run.title}` }) : "");
}

async function list() {
  const { runs } = await call("/api/runs");
  at("runs").replaceChildren(...(runs.length ? runs.map(row) : [make("p", {}, "None yet.")]));
  for (const run of runs) if (["waiting", "running"].includes(run.state)) follow(run);
}

function follow(run) {
  if (followed.has(run.id)) return;
  const events = new EventSource(path("runs", run.id, "events"));
  followed.set(run.id, events);
  const show = (event) => {
    Object.assign(run, JSON.parse(event.data));
    document.querySelector(`.run[data-id="${CSS.escape(run.id)}"]`)?.replaceWith(row(run));
  };
  events.addEventListener("progress", show);
  events.addEventListener("over", (event) => {
    show(event);
    events.close();
    followed.delete(run.id);
    say(run.state === "done" ? `${run.title} is done.` : `${run.title}: ${run.error ?? run.state}`);
    if (run.state === "done" && asked === null) choose(run);
  });
  events.onerror = () => { events.close(); followed.delete(run.id); setTimeout(list, 2000); };
}

async function remove(run, over) {
  if (over && !confirm(`Remove ${run.title} and its records?`)) return;
  try {
    await call(path("runs", run.id), undefined, undefined, "DELETE");
    picked.delete(run.id);
    if (asked?.id === run.id) { asked = null; at("ask").hidden = true; }
    await list();
  } catch (error) { say(error.message); }
}

at("run").addEventListener("click", async () => {
  try {
    const run = await call("/api/runs", { text: text.value, title: at("title").value.trim() });
    say(`${run.title} began.`);
    await list();
  } catch (error) { say(error.message); }
});
at("compare").addEventListener("click", () => {
  open("/api/report?" + [...picked].map((id) => `run=${encodeURIComponent(id)}`).join("&"), "_blank");
});

// --- sweeps ---

const EVERY_MS = 3000;
let explored = null;
let drawn = null;

/** Seconds as people say them. */
function span(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 129600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

function sweepRow(sweep) {
  const count = (number) => number.toLocaleString("en");
  const over = sweep.succeeded + sweep.failed + sweep.left_out;
  const words = sweep.state === "unreadable" ? [sweep.error] : [
    sweep.state === "complete" ? `${count(sweep.succeeded)} runs` : `${count(over)} of ${count(sweep.runs)} runs`,
    sweep.failed ? `${count(sweep.failed)} failed` : "",
    sweep.left_out ? `${count(sweep.left_out)} left out` : "",
    sweep.state === "under_way" && sweep.left_s !== null && over < sweep.runs ? `about ${span(sweep.left_s)} left` : "",
    sweep.state === "under_way" && sweep.idle_s !== null ? `the last ended ${span(sweep.idle_s)} ago` : "",
  ];
  return make("div", { class: "run", "data-id": sweep.id },
    make("span", {}),
    make("span", {}, make("b", {}, sweep.title), " ",
      make("span", { class: sweep.state === "unreadable" ? "wrong" : "" }, words.filter(Boolean).join(", "))),
    make("span", {}, sweep.state === "unreadable" ? "" : make("button", { type: "button", onclick: () => explore(sweep) }, "Explore"), " ",
      sweep.state === "unreadable" ? "" : make("button", { type: "button", onclick: () => open(path("sweeps", sweep.id, "report"), "_blank") }, "Report")),
    sweep.state === "under_way" ? make("progress", { class: "more", max: String(Math.max(sweep.runs, 1)), value: String(over), "aria-label": `Progress of ${sweep.title}` }) : "");
}

async function listSweeps() {
  const { sweeps } = await call("/api/sweeps");
  at("sweeps").hidden = sweeps.length === 0;
  // rows that did not change stay, and buttons keep their focus
  for (const sweep of sweeps) {
    const row = sweepRow(sweep);
    const old = document.querySelector(`#sweep-list .run[data-id="${CSS.escape(sweep.id)}"]`);
    if (old?.outerHTML === row.outerHTML) continue;
    if (!old) {
      const later = [...at("sweep-list").children].find((other) => other.dataset.id > sweep.id);
      at("sweep-list").insertBefore(row, later ?? null);
    } else if (old.contains(document.activeElement)) {
      const which = [...old.querySelectorAll("button")].indexOf(document.activeElement);
      old.replaceWith(row);
      row.querySelectorAll("button")[which]?.focus();
    } else old.replaceWith(row);
  }
  for (const row of at("sweep-list").querySelectorAll(".run")) {
    if (!sweeps.some((sweep) => sweep.id === row.dataset.id)) row.remove();
  }
  const now = sweeps.find((sweep) => sweep.id === explored?.id);
  if (explored && !now) { explored = null; at("explore").hidden = true; }
  if (now && (now.state !== explored.state || now.succeeded !== explored.succeeded)) {
    explored = { ...explored, state: now.state, succeeded: now.succeeded };
    drawPoints();
  }
}

let exploring = null;
async function explore(sweep) {
  exploring?.abort();
  exploring = new AbortController();
  try {
    const found = await call(path("sweeps", sweep.id), undefined, exploring.signal);
    explored = found;
    at("explore").hidden = false;
    at("explored").textContent = found.title;
    at("about").textContent = found.description;
    const fill = (id, role) => at(id).replaceChildren(...["factor", "result"].sort((a) => a === role ? -1 : 1)
      .map((group) => make("optgroup", { label: `${group}s` }, ...found.columns.filter((column) => column.role === group)
        .map((column) => make("option", { value: column.name, title: column.description }, column.name)))));
    fill("sweep-x", "factor");
    fill("sweep-y", "result");
    drawPoints();
  } catch (error) { if (error.name !== "AbortError") say(error.message); }
}
for (const id of ["sweep-x", "sweep-y"]) at(id).addEventListener("change", () => drawPoints());

let pointing = null;
async function drawPoints() {
  pointing?.abort();
  pointing = new AbortController();
  const { id } = explored;
  const axes = ["x", "y"].map((axis) => `${axis}=${encodeURIComponent(at(`sweep-${axis}`).value)}`).join("&");
  let found;
  try { found = await call(`${path("sweeps", id, "points")}?${axes}`, undefined, pointing.signal); } catch (error) {
    if (error.name !== "AbortError") at("points-said").textContent = error.message;
    return;
  }
  if (explored?.id !== id) return;
  const { x, y } = found;
  const points = x.values.map((value, index) => [value, y.values[index]])
    .filter(([a, b]) => a !== null && a !== undefined && b !== null && b !== undefined).sort((a, b) => a[0] - b[0]);
  drawn?.destroy();
  drawn = null;
  at("points").replaceChildren();
  const all = found.succeeded;
  at("points-said").textContent = points.length === 0 ? "No run has both values yet."
    : `Each of the ${points.length.toLocaleString("en")} points is a run${x.values.length < all ? `, of ${all.toLocaleString("en")} that succeeded` : ""}.`;
  if (points.length === 0) return;
  const plot = at("points");
  const axis = (column) => ({
    stroke: getComputedStyle(document.body).color, grid: { stroke: "#8884" }, label: column.name, size: column === y ? 80 : 50,
    ...column.levels ? { splits: () => column.levels.map((_, index) => index), values: (_, splits) => splits.map((at) => column.levels[at] ?? "") } : {},
  });
  // numbers that cannot be negative begin at zero, and a level has room beside it
  const range = (column) => (_, min, max) => column.levels ? [-0.5, column.levels.length - 0.5]
    : min >= 0 && column === y ? [0, 1.05 * max || 1] : min === max ? [min - 1, max + 1] : [min - 0.03 * (max - min), max + 0.03 * (max - min)];
  const shown = (column) => (_, value) => value === null || value === undefined ? "–" : column.levels ? column.levels[value] ?? "" : three(value);
  drawn = new uPlot({
    width: Math.max(300, Math.min(plot.clientWidth, 1100)), height: 340,
    scales: { x: { time: false, range: range(x) }, y: { range: range(y) } },
    series: [{ label: x.name, value: shown(x) }, { label: y.name, value: shown(y), stroke: "#0072b2", paths: () => null, points: { show: true, size: 6, fill: "#0072b280" } }],
    axes: [axis(x), axis(y)],
  }, [points.map((point) => point[0]), points.map((point) => point[1])], plot);
}

// --- questions ---

let question = null;
let before = null;
let sliders = [];

/** Asks about a run. A run that is asked about already keeps its sliders as they are. */
async function choose(run) {
  if (asked?.id === run.id) return;
  asked = run;
  at("ask").hidden = false;
  at("asked").textContent = run.title;
  try {
    const [{ settings }, truth] = await Promise.all([call(path("runs", run.id, "settings")), call(path("runs", run.id))]);
    if (asked !== run) return; // another run was chosen meanwhile
    before = truth.workloads;
    sliders = settings;
    at("sliders").replaceChildren(...settings.map((setting, index) => {
      const shown = make("output", { id: `value-${index}` }, pretty(setting.values[setting.now]));
      const input = make("input", {
        type: "range", id: `slider-${index}`, min: "0", max: String(setting.values.length - 1), step: "1", value: String(setting.now),
        "aria-valuetext": setting.values[setting.now],
        oninput: (event) => {
          const value = setting.values[event.target.value];
          shown.textContent = pretty(value);
          event.target.setAttribute("aria-valuetext", value);
          ask();
        },
      });
      return make("div", { class: "slider" }, make("label", { for: `slider-${index}` }, setting.path), input, shown);
    }));
    at("curve-of").replaceChildren(...settings.filter((setting) => /^workload\..*\.(outstanding|rate)$/.test(setting.path))
      .map((setting) => make("option", { value: setting.path }, setting.path)));
    at("plot").replaceChildren();
    at("knee").textContent = "";
    at("path").replaceChildren();
    ask();
  } catch (error) {
    if (asked === run) asked = null;
    say(error.message);
  }
}

/** Bytes as people write them. */
function pretty(value) {
  const bytes = /^(\d+) B$/.exec(value);
  if (!bytes) return value;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [size, unit] = [Number(bytes[1]), 0];
  while (size >= 1024 && unit < units.length - 1) { size /= 1024; unit += 1; }
  return `${three(size)} ${units[unit]}`;
}

const changesNow = () => sliders.flatMap((setting, index) => {
  const value = Number(at(`slider-${index}`).value);
  return value === setting.now ? [] : [`${setting.path}=${setting.values[value]}`];
});

async function ask() {
  question?.abort();
  question = new AbortController();
  const { signal } = question;
  const changes = changesNow();
  at("changes").textContent = changes.join("  ") || "none";
  at("command").textContent = `foretell ask ${asked.path}${changes.map((change) => ` --what-if '${change}'`).join("")}`;
  let refused = "";
  for (const model of ["fast", "replay"]) {
    try {
      show(await call(path("runs", asked.id, "ask"), { what_if: changes, model }, signal), model, refused);
    } catch (error) {
      if (error.name === "AbortError") return;
      refused = error.message;
      if (model === "replay") at("answer").replaceChildren(make("p", { class: "wrong" }, error.message));
    }
  }
}

function show(answer, model, refused) {
  const between = (found, metric) => {
    const range = found.interval?.[metric];
    return range ? ` (${three(range.low)} to ${three(range.high)})` : "";
  };
  const rows = Object.entries(answer.workloads).map(([name, found]) => {
    const now = before[name];
    const was = now?.response_time_ms?.all?.mean ?? now?.response_time_ms?.mean;
    return make("tr", {}, make("td", {}, name),
      make("td", {}, three(now?.throughput_rps)), make("td", {}, three(found.throughput_rps) + between(found, "throughput_rps")),
      make("td", {}, three(was)), make("td", {}, three(found.response_time_ms.mean) + between(found, "response_time_ms.mean")),
      make("td", {}, three(found.response_time_ms.p99)), make("td", {}, found.bottleneck || "–"));
  });
  const head = ["workload", "requests/s was", "would be", "mean ms was", "would be", "p99 ms", "bottleneck"];
  const busy = answer.bottleneck;
  at("answer").replaceChildren(
    make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Answer" }, make("table", {},
      make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))), make("tbody", {}, ...rows))),
    make("p", {}, `By the model ${model}, in ${three(answer.elapsed_ms)} ms. `,
      busy ? `Busiest: ${busy.host}.${busy.resource}, ${Math.round(100 * busy.utilization)} % busy. ` : "",
      ...Object.entries(answer.workloads).filter(([, found]) => found.overload).map(([name, { overload }]) =>
        `${name}: overload, ${three(overload.factor)} times what ${overload.resource} can do. `),
      model === "replay" && refused ? make("span", { class: "close" }, `The fast model cannot say: ${refused}`) : ""));
}

// --- the load curve ---

at("curve").addEventListener("click", async () => {
  const setting = sliders.find((known) => known.path === at("curve-of").value);
  if (!setting) return;
  const of = asked;
  const { name, is_rate } = loadOf(setting.path);
  const { clients } = setting;
  const others = changesNow().filter((change) => !change.startsWith(`${setting.path}=`));
  const ask = (value, model) => call(path("runs", of.id, "ask"),
    { what_if: [...others, `${setting.path}=${is_rate ? `${value} /s` : value}`], model });
  const go = (curve) => {
    if (asked !== of) return false;
    drawCurve(curve, is_rate, name, clients);
    return true;
  };
  at("curve").disabled = true;
  at("knee").textContent = "";
  try {
    const curve = await curveOf({ name, clients, values: setting.values.map(parseFloat) }, ask, go);
    if (asked === of) at("knee").textContent = wordsOf(curve, is_rate, clients);
  } finally { at("curve").disabled = false; }
});

/** The workload of a setting of its load; a name may contain dots. */
function loadOf(path) {
  const [, name, kind] = /^workload\.(.*)\.(outstanding|rate)$/.exec(path);
  return { name, is_rate: kind === "rate" };
}

function drawCurve({ points, knee }, is_rate, name, clients) {
  const ink = getComputedStyle(document.body).color;
  const plot = at("plot");
  plot.replaceChildren();
  if (points.length < 2) return;
  const axis = { stroke: ink, grid: { stroke: "#8884" } };
  const label = (is_rate ? "requests issued per second" : "requests outstanding") + together(clients);
  const mark = (chart) => {
    if (!knee) return;
    const x = Math.round(chart.valToPos(knee.load, "x", true));
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.strokeStyle = ink;
    ctx.setLineDash([4, 4]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillStyle = ink;
    ctx.fillText("knee", x + 6, bbox.top + 14);
    ctx.restore();
  };
  const number = (_, value) => value === null || value === undefined ? "–" : three(value);
  new uPlot({
    width: Math.max(300, Math.min(plot.clientWidth, 900)), height: 340, title: `${name}: load curve`,
    scales: { x: { time: false, distr: 3, log: 2 }, rps: { range: (_, __, max) => [0, 1.05 * max] }, ms: { distr: 3 } },
    series: [{ label, value: number }, { label: "requests/s", scale: "rps", stroke: "#0072b2", width: 2, points: { show: true }, value: number },
      { label: "mean ms", scale: "ms", stroke: "#d55e00", width: 2, dash: [6, 4], points: { show: true }, value: number },
      { label: "p99 ms", scale: "ms", stroke: "#009e73", width: 2, dash: [2, 3], points: { show: true }, value: number }],
    axes: [{ ...axis, label }, { ...axis, scale: "rps", label: "requests/s", size: 70 }, { ...axis, scale: "ms", side: 1, label: "response time, ms", size: 60, grid: { show: false } }],
    hooks: { draw: [mark] },
  }, [points.map((point) => point.load), ...["rps", "mean", "p99"].map((key) => points.map((point) => point[key]))], plot);
}

const together = (clients) => clients === 1 ? "" : `, all ${clients} clients together`;

/** What a load curve shows, in words. */
function wordsOf({ model, points, knee, overload, refused }, is_rate, clients) {
  const unit = (is_rate ? "requests/s offered" : "requests outstanding") + together(clients);
  const times = (point) => `a mean of ${three(point.mean)} ms and a p99 of ${three(point.p99)} ms`;
  const last = points.at(-1);
  return [
    knee ? `The knee is at ${three(knee.load)} ${unit}: there, ${three(knee.rps)} requests/s with ${times(knee)}. That is 90 % of the highest throughput, ${three(knee.most)} requests/s: more load mostly adds waiting.` : "",
    overload ? `The curve ends before ${three(overload.load)} ${unit}: then ${overload.workload} is in overload, ${three(overload.factor)} times what ${overload.resource} can do, and requests wait longer and longer.` : "",
    !knee && !overload && last ? `The cluster is not saturated in this range: at ${three(last.load)} ${unit}, the throughput of ${three(last.rps)} requests/s still grows, with ${times(last)}.` : "",
    last ? `All points are answers of the model ${model}.` : "",
    refused ? `The model ${model} does not answer about every load: ${refused.message}` : "",
  ].filter(Boolean).join(" ");
}

// --- the path of a request ---

at("trace").addEventListener("click", async () => {
  try {
    const found = await call(path("runs", asked.id, "requests", String(Number(at("number").value))));
    // what happens behind its back, such as flushes, comes after its end
    const whole = found.steps.find((step) => step.resource === "request" && step.what.endsWith("is complete"));
    const end = Math.max(whole?.at_ms ?? Math.max(...found.steps.map((step) => step.at_ms + (step.waiting_ms ?? 0) + (step.service_ms ?? 0))), 1e-6);
    const head = ["ms", "host", "resource", "what", "waits ms", "served ms", ""];
    const bar = (step) => {
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      svg.setAttribute("viewBox", "0 0 200 12");
      svg.setAttribute("width", "200");
      svg.setAttribute("height", "12");
      svg.setAttribute("aria-hidden", "true");
      if (step.at_ms > end) return make("span", {}, "later");
      const part = (from, length, color) => {
        const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
        for (const [key, value] of Object.entries({ x: 200 * from / end, y: 1, width: Math.max(200 * length / end, 0.8), height: 10, fill: color })) rect.setAttribute(key, value);
        svg.append(rect);
      };
      const waits = step.waiting_ms ?? 0;
      if (waits > 0) part(step.at_ms, waits, "#d55e00");
      part(step.at_ms + waits, step.service_ms ?? 0, "#0072b2");
      return svg;
    };
    const cell = (value) => make("td", typeof value === "string" ? { class: "words" } : {}, value === null || value === undefined ? "" : typeof value === "number" ? value.toFixed(3) : value);
    at("path").replaceChildren(
      make("p", { class: "hint" }, "Orange: it waits. Blue: it is served."),
      make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Path of the request" }, make("table", {},
        make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name || "time")))),
        make("tbody", {}, ...found.steps.map((step) => make("tr", {},
          cell(step.at_ms), cell(step.host), cell(step.resource), cell(step.what), cell(step.waiting_ms), cell(step.service_ms), make("td", {}, bar(step))))))));
  } catch (error) { at("path").replaceChildren(make("p", { class: "wrong" }, error.message)); }
});

// --- the beginning ---

at("shipped").addEventListener("change", async (event) => {
  if (!event.target.value) return;
  text.value = (await call(path("scenarios", event.target.value))).text;
  check();
});
(async () => {
  const [{ scenarios }, found] = await Promise.all([call("/api/scenarios"), call("/api/schema")]);
  schema = found;
  at("shipped").append(make("option", { value: "" }, "–"), ...scenarios.map((name) => make("option", { value: name }, name)));
  if (!await recall()) {
    at("shipped").value = "first-look";
    text.value = (await call(path("scenarios", "first-look"))).text;
  }
  check();
  list();
  // sweeps are done by other processes, which do not say when a run ends
  const look = async () => {
    if (!document.hidden) await listSweeps().catch((error) => say(error.message));
    setTimeout(look, EVERY_MS);
  };
  look();
})();
