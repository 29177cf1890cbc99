// The page of a service. All text comes in by textContent, so nothing in an event can become markup.

const STATUS_MS = 2000;
const HISTORY_MS = 15000;
const TIMEOUT_MS = 10000;
const PARTITIONS = 20;
const SLOW_SHARE = 0.5;  // of the time of a chain: what one would make faster first
const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

let pipelines = [];
let memory = {driver_bytes: 0, jvm: null};
let jobs = [];
let reload = null;  // the newest one, with the file of the service
let history = {step_s: 30, pipelines: {}};
let lost = "";  // since when the service does not answer
let chosen = null;  // the pipeline in the detail; it stays until the user chooses another one
const parts = new Map();  // id of an element -> the JSON of what it shows

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

const mib = (bytes) => `${number(Math.round(bytes / 1048576))} MiB`;
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

// Makes a part of the page anew only if what it shows has changed: a text that is being copied stays as it is.
function part(id, data, make) {
  const now = JSON.stringify(data);
  if (parts.get(id) === now) return;
  parts.set(id, now);
  byId(id).replaceChildren(make());
}

function table(heads, rows, none) {
  if (!rows.length) return element("p", {text: none, class: "none"});
  const columns = heads.map(([text, kind]) => element("th", {text, scope: "col", class: kind ?? ""}));
  const head = element("tr", {}, ...columns);
  const body = rows.map((cells) => element("tr", {}, ...cells.map((cell, index) => {
    const made = element("td", {class: heads[index][1] ?? ""});
    made.append(cell);
    return made;
  })));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
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

// Of the events of the last minute; a pipeline that runs may fail many of them.
function failing(pipeline) {
  const failed = pipeline.components.reduce((total, each) => total + each.recent.failed, 0);
  const received = pipeline.components[0]?.recent.received;
  return failed ? `${share(failed, received)} events failed in the last minute` : "";
}

function showList() {
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
    put(each.reason, pipeline.reason.split("\n")[0] || failing(pipeline));
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

function named() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";  // no name that a link of this page has
  }
}

// At first the pipeline that the address names, else the worst one.
function choose() {
  if (chosen !== null || !pipelines.length) return;
  const worst = SEVERITY.map((state) => pipelines.find((each) => each.state === state)).find(Boolean);
  chosen = named() || (worst ?? pipelines[0]).name;
}

function showDetail() {
  const pipeline = pipelines.find((each) => each.name === chosen);
  byId("detail").hidden = chosen === null;
  byId("of-pipeline").hidden = !pipeline;
  put(byId("detail-title"), pipeline ? chosen : `The service has no pipeline ${chosen}`);
  if (!pipeline) return;
  for (const button of byId("detail").querySelectorAll("button")) {
    put(button.lastElementChild, ` ${chosen}`);
    button.dataset.pipeline = chosen;
  }
  put(byId("state"), pipeline.state);
  byId("state").className = `state ${pipeline.state}`;
  put(byId("since"), `for ${ago(pipeline.since_ms)}`);
  byId("reason").hidden = !pipeline.reason;
  byId("reason").className = `reason ${pipeline.state}`;
  put(byId("reason"), pipeline.reason);
  const values = history.pipelines[chosen] ?? {};
  part("plots", values, () => plots(values));
  part("chain", pipeline.components, () => chain(pipeline.components));
  part("partitions", [pipeline.lag, pipeline.retention], () => partitions(pipeline));
  part("dead-letters", [chosen, pipeline.dead_lettered_by, pipeline.totals.dead_lettered], () => deadLetters(pipeline));
  part("errors", pipeline.errors, () => table(
    [["time", "whole"], ["error", "whole"], ["message", "text"]],
    pipeline.errors.toReversed().map((error) => [time(error.at_ms), error.code, error.message]), "None",
  ));
}

function plots(values) {
  const figure = (title, series, text) => {
    const top = Math.max(...series.map((value) => value ?? 0), 0);
    return element("figure", {},
      element("figcaption", {}, element("span", {text: title}), element("b", {text: text(last(series))})),
      plot(series, `${title} in the last hour, at most ${text(top)}`),
      element("figcaption", {}, element("span", {text: "last hour"}), element("span", {text: `at most ${text(top)}`})),
    );
  };
  const made = document.createDocumentFragment();
  made.append(
    figure("events/s", values.read_per_s ?? [], number),
    figure("lag, events", values.lag ?? [], number),
    figure("longest batch", values.batch_s ?? [], seconds),
  );
  return made;
}

function chain(components) {
  if (!components.length) return element("p", {text: "The pipeline is not built yet", class: "none"});
  const items = components.map((each) => {
    const {received, dropped, failed} = each.recent;
    const figures = element("dl");
    const figure = (name, value, kind = "") => {
      figures.append(element("dt", {text: name}), element("dd", {text: value, class: kind}));
    };
    figure("events/s", number(each.rates.received_per_s));
    if (dropped) figure("dropped", share(dropped, received));
    if (failed) figure("failed", share(failed, received), "failed");
    if (each.microseconds !== null) figure("time an event", `${number(each.microseconds)} µs`);
    const isSlow = each.time_share >= SLOW_SHARE && components.length > 2;
    if (each.time_share !== null) figure("of the time", percent(each.time_share), isSlow ? "slow" : "");
    const kind = each.kind && each.kind !== each.name ? `${each.kind} ` : "";
    return element("li", {class: each.type}, element("span", {text: kind}), element("b", {text: each.name}), figures);
  });
  return element("ol", {}, ...items);
}

// Their contents are not shown, since whoever reaches the page may read it: the commands show them.
function deadLetters(pipeline) {
  const made = document.createDocumentFragment();
  made.append(table(
    [["error", "whole"], ["decorator or sink", "whole"], ["events", "number"], ["newest micro-batch", "whole"],
      ["shown by", "command"]],
    pipeline.dead_lettered_by.map((each) => {
      const since = new Date(each.batch_time_ms).toISOString();
      const options = ["--pipeline", pipeline.name, "--component", each.component, "--code", each.error];
      const command = ["attr2hbase", "dead-letters", "list", ...options, "--since", since].map(quoted).join(" ");
      return [each.error, each.component, number(each.events), time(each.batch_time_ms), command];
    }), "None",
  ));
  const listed = pipeline.dead_lettered_by.reduce((total, each) => total + each.events, 0);
  const others = pipeline.totals.dead_lettered - listed;
  if (others > 0) made.append(element("p", {text: `and ${number(others)} more, of other errors or components or from before a row was listed`}));
  if (listed) {
    const command = `attr2hbase tap ${quoted(pipeline.name)} --failed`;
    made.append(element("p", {}, "The next ones as they fail: ", element("code", {text: command})));
  }
  return made;
}

// As a word of a shell.
function quoted(text) {
  return /^[\w.:#@%+=,/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function newestReload(reload) {
  if (!reload.id) return element("p", {text: "The file was not reloaded since the start", class: "none"});
  const isRefused = reload.phase === "refused";
  const isDone = reload.phase === "done";
  const made = document.createDocumentFragment();
  const state = isRefused ? "failed" : isDone ? "done" : "waiting";
  made.append(element("p", {},
    `Newest reload, ${time(reload.at_ms)}: `, element("span", {text: reload.phase, class: `state ${state}`})));
  const changes = ["changed", "added", "removed"].filter((kind) => reload[kind].length)
    .map((kind) => `${kind}: ${reload[kind].join(", ")}`);
  if (isDone) made.append(element("p", {text: changes.join("; ") || "No pipeline has changed"}));
  for (const [name, reason] of Object.entries(reload.failed)) {
    made.append(element("p", {text: `${name} could not be built: ${reason}`, class: "reason failed"}));
  }
  for (const each of reload.differences.filter(({differs}) => differs)) {
    const rows = ["added", "removed", "changed"].map((kind) => `${number(each.rows[kind])} ${kind}`).join(", ");
    made.append(element("p", {text: `Check of ${each.pipeline} with ${number(each.events)} events; rows: ${rows}`}));
  }
  if (isRefused) {
    const text = `The service keeps the old file: ${reload.reason}${reload.hint ? `; ${reload.hint}` : ""}`;
    made.append(element("p", {text, class: "reason failed"}));
  }
  return made;
}

function partitions(pipeline) {
  const key = ({topic, partition}) => JSON.stringify([topic, partition]);
  const used = new Map((pipeline.retention?.partitions ?? []).map((each) => [key(each), each.used]));
  const all = (pipeline.lag?.partitions ?? []).toSorted((one, other) => other.records - one.records);
  const made = document.createDocumentFragment();
  made.append(table(
    [["topic"], ["partition", "number"], ["unread", "number"], ["retention used", "number"]],
    all.slice(0, PARTITIONS).map((each) => {
      const fraction = used.get(key(each));
      const shown = fraction === undefined ? "–" : percent(fraction);
      return [each.topic, `${each.partition}`, number(each.records), shown];
    }), "The source has none, or they are not measured yet",
  ));
  if (all.length > PARTITIONS) {
    made.append(element("p", {text: `and ${all.length - PARTITIONS} more with fewer unread events`}));
  }
  return made;
}

function showService() {
  if (!reload) return;
  put(byId("service"), `Reads ${reload.file}; started ${time(reload.started_ms)}`);
  part("newest-reload", reload, () => newestReload(reload));
}

function showMemory() {
  const known = memory.driver_bytes ? [`driver ${mib(memory.driver_bytes)}`] : [];
  if (memory.jvm) {
    const {heap_used_bytes: used, heap_max_bytes: most, gc_seconds: gc} = memory.jvm;
    known.push(`heap of Spark's JVM ${mib(used)} of ${mib(most)}, ${number(gc)} s of garbage collection`);
  }
  const workers = Math.max(0, ...pipelines.map((each) => each.worker_bytes ?? 0));
  if (workers) known.push(`largest worker ${mib(workers)}`);
  put(byId("memory"), known.length ? `Memory: ${known.join("; ")}` : "");
}

// --- jobs ----------------------------------------------------------------------------------------------------------

const jobRows = new Map();

function jobRow(job) {
  const state = element("span", {class: "state"});
  const reason = element("span", {class: "reason"});
  const progress = element("progress", {hidden: "", "aria-label": `${job.kind} of ${job.subject}`});
  const cancel = element("button", {text: "Cancel", type: "button", "data-cancel": job.id});
  const row = element("tr", {},
    element("th", {text: job.kind, scope: "row"}), element("td", {text: job.subject}),
    element("td", {}, state, " ", reason), element("td", {}, progress),
    element("td", {text: time(job.since_ms)}), element("td", {}, cancel),
  );
  return {row, state, reason, progress, cancel};
}

function showJobs() {
  const body = document.querySelector("#jobs tbody");
  byId("jobs").hidden = !jobs.length;
  byId("no-jobs").hidden = jobs.length > 0;
  for (const [id, {row}] of jobRows) {
    if (!jobs.some((job) => job.id === id)) { row.remove(); jobRows.delete(id); }
  }
  for (const job of jobs) {
    let each = jobRows.get(job.id);
    if (!each) {
      each = jobRow(job);
      jobRows.set(job.id, each);
      body.append(each.row);
    }
    put(each.state, job.state);
    each.state.className = `state ${job.state}`;
    put(each.reason, job.error?.message ?? job.reason);
    each.progress.hidden = !job.total;
    each.progress.max = job.total || 1;
    each.progress.value = job.done;
    each.cancel.hidden = !["waiting", "running"].includes(job.state);
  }
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
  const options = {
    method: "POST", headers: {Authorization: `Bearer ${token.get()}`}, signal: AbortSignal.timeout(TIMEOUT_MS),
  };
  if (content !== undefined) {
    options.body = content;
    options.headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    answer("The service did not answer, and may have taken the command: look at its effect before you send it again");
    return;
  }
  if (response.ok) {
    answer(done);
  } else if (response.status === 401) {
    answer("The token is missing or wrong: enter the control token of this service");
    document.querySelector("#token input").focus();
  } else {
    answer((await response.text()).trim());
  }
  await attempt(refresh);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const name = button.dataset.pipeline;
  if (button.dataset.command) {
    const path = `pipelines/${encodeURIComponent(name)}/${button.dataset.command}`;
    command(path, undefined, `${name}: ${button.dataset.command} accepted`);
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
  const given = new FormData(event.target).get("token").trim();
  event.target.reset();
  if (!/^[ -~]+$/.test(given)) {
    answer("A token has printable ASCII characters, and at least one");
    return;
  }
  token.set(given);
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
  for (const {kind, example} of kinds) {
    select.append(element("option", {text: kind, value: kind, "data-example": example}));
  }
  byId("job").elements.content.value = select.selectedOptions[0]?.dataset.example ?? "";
}

// --- asking --------------------------------------------------------------------------------------------------------

async function asked(path) {
  const response = await fetch(path, {signal: AbortSignal.timeout(TIMEOUT_MS)});
  if (!response.ok) throw new Error(`${path}: ${response.status} ${(await response.text()).trim()}`);
  return response.json();
}

function show() {
  choose();
  showSummary();
  showList();
  showDetail();
  showService();
  showMemory();
  showJobs();
}

async function refresh() {
  const [status, work, found] = await Promise.all([asked("pipelines"), asked("jobs"), asked("reload")]);
  pipelines = status.pipelines;
  reload = found;
  memory = status.memory;
  jobs = work.jobs;
  showKinds(work.kinds);
  if (lost) {
    lost = "";
    put(byId("connection"), "");
    await refreshHistory();
  }
  show();
}

async function refreshHistory() {
  history = await asked("history");
  show();
}

// Does what asks the service, and says that it has not answered: once, since a screen reader reads it aloud.
async function attempt(action) {
  try {
    await action();
  } catch (error) {
    lost ||= `The service has not answered since ${time(Date.now())}; what is shown is older (${error.message})`;
    put(byId("connection"), lost);
  }
}

async function every(ms, action) {
  for (;;) {
    if (!document.hidden) await attempt(action);
    await new Promise((resolve) => { setTimeout(resolve, ms); });
  }
}

addEventListener("hashchange", () => { chosen = named() || chosen; show(); });
every(HISTORY_MS, refreshHistory);
every(STATUS_MS, refresh);
