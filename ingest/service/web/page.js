// The page of a service. All text comes in by textContent, so nothing in an event can become markup.

const STATUS_MS = 2000;
const HISTORY_MS = 15000;
const PARTITIONS = 20;
const SLOW_SHARE = 0.5;  // of the time of a chain: what one would make faster first
const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

let pipelines = [];
let jobs = [];
let history = {step_s: 30, pipelines: {}};
let lostSince = null;
let shown = "";  // the JSON of what the detail shows, so that it is made anew only if it changes

// --- what is shown -------------------------------------------------------------------------------------------------

function element(name, {text, ...properties} = {}, ...children) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function number(value) {
  if (value === null || value === undefined) return "–";
  return value.toLocaleString("en", {maximumFractionDigits: Math.abs(value) < 10 ? 2 : 0});
}

function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 120) return `${number(value)} s`;
  if (value < 7200) return `${Math.round(value / 60)} min`;
  return value < 172800 ? `${Math.round(value / 3600)} h` : `${Math.round(value / 86400)} d`;
}

const percent = (value) => `${number(value * 100)} %`;
const share = (part, whole) => (whole ? `${number(part)} (${percent(part / whole)})` : number(part));
const ago = (ms) => seconds(Math.max(1, Math.round((Date.now() - ms) / 1000)));
const time = (ms) => new Date(ms).toISOString().replace("T", " ").replace(/\..*/, " UTC");
const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0);
const last = (values) => values.findLast((value) => value !== null) ?? null;

function plot(values, title) {
  const width = 240;
  const height = 60;
  const top = Math.max(...values.map((value) => value ?? 0), 1e-9);
  let path = "";
  let isDown = false;
  values.forEach((value, index) => {
    if (value === null) { isDown = false; return; }
    const x = (index / Math.max(1, values.length - 1)) * width;
    const y = height - 2 - (value / top) * (height - 4);
    path += `${isDown ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    if (!isDown) path += "h.1";
    isDown = true;
  });
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", title);
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

function table(heads, rows, none) {
  if (!rows.length) return element("p", {text: none, class: "none"});
  const head = element("tr", {}, ...heads.map(([text, kind]) => element("th", {text, scope: "col", class: kind ?? ""})));
  const body = rows.map((cells) => element("tr", {}, ...cells.map((cell, index) => {
    const made = element("td", {class: heads[index][1] ?? ""});
    made.append(cell);
    return made;
  })));
  return element("div", {class: "wide", tabindex: "0"},
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
}

// --- the list ------------------------------------------------------------------------------------------------------

const rows = new Map();

function row(name) {
  const link = element("a", {text: name, href: `#${encodeURIComponent(name)}`});
  const state = element("span", {class: "state"});
  const reason = element("span", {class: "reason"});
  const cell = (label) => element("td", {class: "number", "data-name": label});
  const made = {
    row: element("tr"), state, reason,
    rate: cell("events/s"), lag: cell("lag"), batch: cell("batch"), letters: cell("dead letters"),
    hour: element("td"), drawn: "",
  };
  made.row.append(
    element("th", {scope: "row"}, link), element("td", {}, state, reason),
    made.rate, made.lag, made.batch, made.letters, made.hour,
  );
  return made;
}

function showList(chosen) {
  const body = document.querySelector("#pipelines tbody");
  for (const [name, each] of rows) {
    if (!pipelines.some((pipeline) => pipeline.name === name)) { each.row.remove(); rows.delete(name); }
  }
  for (const pipeline of pipelines) {
    let each = rows.get(pipeline.name);
    if (!each) {
      each = row(pipeline.name);
      rows.set(pipeline.name, each);
      body.append(each.row);
    }
    put(each.state, pipeline.state);
    each.state.className = `state ${pipeline.state}`;
    put(each.reason, pipeline.reason.split("\n")[0]);
    put(each.rate, number(pipeline.rates.read_per_s));
    put(each.lag, number(pipeline.lag?.records));
    put(each.batch, seconds(pipeline.batch?.seconds));
    put(each.letters, number(sum(pipeline.dead_letters)));
    if (pipeline.name === chosen) each.row.setAttribute("aria-current", "true");
    else each.row.removeAttribute("aria-current");
    const values = history.pipelines[pipeline.name]?.read_per_s ?? [];
    if (each.drawn !== `${values}`) {
      each.drawn = `${values}`;
      each.hour.replaceChildren(plot(values, `events a second in the last hour, now ${number(last(values))}`));
    }
  }
}

function showSummary() {
  const counts = {};
  for (const {state} of pipelines) counts[state] = (counts[state] ?? 0) + 1;
  const states = Object.entries(counts).map(([state, count]) => `${count} ${state.replace("_", " ")}`);
  const noun = pipelines.length === 1 ? "pipeline" : "pipelines";
  put(byId("summary"), `${pipelines.length} ${noun}${states.length ? `: ${states.join(", ")}` : ""}`);
}

// --- one pipeline --------------------------------------------------------------------------------------------------

const SEVERITY = ["failed", "blocked", "backing_off"];

function chosenName() {
  const named = decodeURIComponent(location.hash.slice(1));
  if (pipelines.some(({name}) => name === named)) return named;
  const worst = SEVERITY.map((state) => pipelines.find((each) => each.state === state)).find(Boolean);
  return (worst ?? pipelines[0])?.name ?? "";
}

function showDetail(name) {
  const pipeline = pipelines.find((each) => each.name === name);
  byId("detail").hidden = !pipeline;
  if (!pipeline) return;
  put(byId("since"), `for ${ago(pipeline.since_ms)}`);
  const values = history.pipelines[name] ?? {};
  const now = JSON.stringify([{...pipeline, jobs: null}, values]);
  if (now === shown) return;
  shown = now;
  put(byId("detail-title"), name);
  put(byId("state"), pipeline.state);
  byId("state").className = `state ${pipeline.state}`;
  byId("reason").hidden = !pipeline.reason;
  byId("reason").className = `reason ${pipeline.state}`;
  put(byId("reason"), pipeline.reason);
  showPlots(values);
  showChain(pipeline.components ?? []);
  showPartitions(pipeline);
  byId("dead-letters").replaceChildren(table(
    [["error"], ["events", "number"]],
    Object.entries(pipeline.dead_letters).map(([code, count]) => [code, number(count)]), "None",
  ));
  byId("errors").replaceChildren(table(
    [["time"], ["error"], ["message"]],
    pipeline.errors.toReversed().map((error) => [time(error.at_ms), error.code, error.message]), "None",
  ));
}

function showPlots(values) {
  const figure = (title, series, text) => {
    const caption = element("figcaption", {}, element("span", {text: title}), element("b", {text: text(last(series))}));
    const top = Math.max(...series.map((value) => value ?? 0), 0);
    const made = element("figure", {}, caption, plot(series, `${title} in the last hour, at most ${text(top)}`));
    made.append(element("figcaption", {}, element("span", {text: "last hour"}), element("span", {text: `at most ${text(top)}`})));
    return made;
  };
  byId("plots").replaceChildren(
    figure("events/s", values.read_per_s ?? [], number),
    figure("lag, events", values.lag ?? [], number),
    figure("longest batch", values.batch_s ?? [], seconds),
  );
}

function showChain(components) {
  if (!components.length) {
    byId("chain").replaceChildren(element("p", {text: "The pipeline is not built yet", class: "none"}));
    return;
  }
  const items = components.map((each) => {
    const {received_per_s: received, dropped_per_s: dropped, failed_per_s: failed} = each.rates;
    const figures = element("dl");
    const figure = (name, value, kind = "") => figures.append(element("dt", {text: name}), element("dd", {text: value, class: kind}));
    figure("events/s", number(received));
    if (each.dropped) figure("dropped/s", share(dropped, received));
    if (each.failed) figure("failed/s", share(failed, received), failed > 0 ? "failed" : "");
    const isSlow = each.time_share >= SLOW_SHARE && components.length > 2;
    if (each.microseconds !== null) figure("time an event", `${number(each.microseconds)} µs`);
    if (each.time_share !== null) figure("of the time", percent(each.time_share), isSlow ? "slow" : "");
    const name = each.kind && each.kind !== each.name ? `${each.kind} ` : "";
    return element("li", {class: each.type}, element("span", {text: name}), element("b", {text: each.name}), figures);
  });
  byId("chain").replaceChildren(element("ol", {}, ...items));
}

function showPartitions(pipeline) {
  const used = new Map((pipeline.retention?.partitions ?? []).map((each) => [`${each.topic} ${each.partition}`, each]));
  const all = (pipeline.lag?.partitions ?? []).toSorted((one, other) => other.records - one.records);
  const made = table(
    [["topic"], ["partition", "number"], ["unread", "number"], ["retention used", "number"]],
    all.slice(0, PARTITIONS).map((each) => {
      const share = used.get(`${each.topic} ${each.partition}`)?.used;
      return [each.topic, `${each.partition}`, number(each.records), share === undefined ? "–" : `${Math.round(share * 100)} %`];
    }), "The source has none, or they are not measured yet",
  );
  byId("partitions").replaceChildren(made);
  if (all.length > PARTITIONS) {
    byId("partitions").append(element("p", {text: `and ${all.length - PARTITIONS} more with fewer unread events`}));
  }
}

// --- jobs ----------------------------------------------------------------------------------------------------------

let shownJobs = "";

function showJobs() {
  const now = JSON.stringify(jobs);
  if (now === shownJobs) return;
  shownJobs = now;
  byId("jobs").replaceChildren(table(
    [["job"], ["of"], ["state"], ["progress"], ["since"], [""]],
    jobs.map((job) => {
      const state = element("span", {text: job.state, class: `state ${job.state}`});
      const status = element("span", {}, state);
      if (job.reason || job.error) status.append(element("span", {text: ` ${job.error?.message ?? job.reason}`, class: "reason"}));
      const bar = job.total
        ? element("progress", {max: job.total, value: job.done, "aria-label": `${job.kind} of ${job.subject}: ${job.done} of ${job.total}`})
        : "–";
      const isActive = job.state === "waiting" || job.state === "running";
      const cancel = isActive ? element("button", {text: "Cancel", type: "button", "data-cancel": job.id}) : "";
      return [job.kind, job.subject, status, bar, time(job.since_ms), cancel];
    }), "No job waits, runs or has ended lately",
  ));
}

// --- commands ------------------------------------------------------------------------------------------------------

const token = {
  get: () => sessionStorage.getItem("token") ?? "",
  set: (value) => sessionStorage.setItem("token", value),
};

function answer(text) {
  put(byId("answer"), text);
}

async function command(path, content, done) {
  answer("Sending");
  try {
    const options = {method: "POST", headers: {Authorization: `Bearer ${token.get()}`}};
    if (content !== undefined) {
      options.body = content;
      options.headers["Content-Type"] = "application/json";
    }
    const response = await fetch(path, options);
    if (response.ok) {
      answer(done);
    } else if (response.status === 401) {
      answer("The token is missing or wrong: enter the control token of this service");
      document.querySelector("#token input").focus();
    } else {
      answer((await response.text()).trim());
    }
  } catch {
    answer("The service did not answer; look at the state of the pipeline, then try again");
  }
  await refresh();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const name = byId("detail-title").textContent;
  if (button.dataset.command) {
    command(`pipelines/${encodeURIComponent(name)}/${button.dataset.command}`, undefined, `${name}: ${button.dataset.command} accepted`);
  } else if (button.dataset.job) {
    command(`jobs/${button.dataset.job}`, JSON.stringify({pipeline: name}), `${name}: job accepted`);
  } else if (button.dataset.cancel) {
    command(`jobs/${button.dataset.cancel}/cancel`, undefined, "The job ends");
  } else if (button.id === "reload") {
    command("reload", undefined, "The service reads its file");
  }
});

byId("token").addEventListener("submit", (event) => {
  event.preventDefault();
  token.set(new FormData(event.target).get("token").trim());
  event.target.reset();
  answer("The token is kept until this tab is closed");
});

byId("job").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = new FormData(event.target);
  command(`jobs/${form.get("kind")}`, form.get("content"), `${form.get("kind")}: job accepted`);
});

byId("job").elements.kind.addEventListener("change", (event) => {
  byId("job").elements.content.value = event.target.selectedOptions[0].dataset.example;
});

function showKinds(kinds) {
  const select = byId("job").elements.kind;
  if (select.options.length) return;
  for (const {kind, example} of kinds) select.append(element("option", {text: kind, value: kind, "data-example": example}));
  byId("job").elements.content.value = select.selectedOptions[0]?.dataset.example ?? "";
}

// --- asking --------------------------------------------------------------------------------------------------------

async function asked(path) {
  const response = await fetch(path, {signal: AbortSignal.timeout(10000)});
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}

function show() {
  const name = chosenName();
  showSummary();
  showList(name);
  showDetail(name);
  showJobs();
}

async function refresh() {
  try {
    const [status, work] = await Promise.all([asked("pipelines"), asked("jobs")]);
    pipelines = status.pipelines;
    jobs = work.jobs;
    showKinds(work.kinds);
    if (lostSince !== null) { lostSince = null; await refreshHistory(); }
    put(byId("connection"), "");
  } catch {
    lostSince ??= Date.now();
    put(byId("connection"), `The service has not answered for ${ago(lostSince)}; what is shown is older`);
    return;
  }
  show();
}

async function refreshHistory() {
  try {
    history = await asked("history");
    const reload = await asked("reload");
    put(byId("service"), `Reads ${reload.file}; started ${time(reload.started_ms)}`);
  } catch {
    return;  // `refresh` says that the service does not answer
  }
  show();
}

async function every(ms, action) {
  for (;;) {
    if (!document.hidden) await action();
    await new Promise((resolve) => { setTimeout(resolve, ms); });
  }
}

addEventListener("hashchange", show);
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
every(HISTORY_MS, refreshHistory);
every(STATUS_MS, refresh);
