// The playground: its tabs, its examples and its links.
import { fragmentOf, linkLimit, stateOf } from "./link.js";
import { clusterTab } from "./clustertab.js";
import { rulesTab } from "./rulestab.js";
import { scenarioTab } from "./scenariotab.js";

const at = id => document.getElementById(id);
const names = ["rules", "cluster", "scenario"];
const makers = { rules: rulesTab, cluster: clusterTab, scenario: scenarioTab };
const tabs = {}; // those that were opened
let examples = [];

/** open shows a tab, and makes it when it is first shown. */
function open(name, focus) {
  for (const other of names) {
    const button = at("tab-" + other), chosen = other === name;
    button.setAttribute("aria-selected", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
    at("panel-" + other).hidden = !chosen;
  }
  tabs[name] ??= makers[name]();
  if (focus) at("tab-" + name).focus();
  return tabs[name];
}

const opened = () => names.find(name => !at("panel-" + name).hidden);

/** first is the example that a tab begins with. */
const first = name => examples.find(e => e.tab === name);

function say(text) { at("said").textContent = text; }

async function share() {
  const name = opened();
  const fragment = await fragmentOf({ tab: name, ...tabs[name].state() });
  if (fragment.length > linkLimit) {
    say(`The link would have ${fragment.length} characters, and links have at most ${linkLimit}: take out what the packet does not need.`);
    return;
  }
  history.replaceState(null, "", "#" + fragment);
  try {
    await navigator.clipboard.writeText(location.href);
    say(`Copied: ${fragment.length} characters, and all of it is in the link.`);
  } catch {
    say("The link is in the address bar.");
  }
}

/** go opens what the address names: a link, an example, or the first example. */
async function go() {
  const fragment = location.hash.slice(1);
  const named = examples.find(e => fragment === "example=" + e.name);
  if (named) {
    await load(named.tab, named);
    return;
  }
  if (fragment) {
    try {
      const state = await stateOf(fragment);
      delete state.from; // that is for examples
      if (names.includes(state.tab)) {
        await load(state.tab, state);
        return;
      }
    } catch (error) {
      say(`This address cannot be opened: ${error.message}.`);
    }
  }
  await load("rules", first("rules") ?? {});
}

async function load(name, state) {
  if (state.from) state = { ...state, objects: await (await fetch(state.from)).text() };
  await open(name).load(state);
}

function fill() {
  const groups = {};
  for (const e of examples) {
    if (!names.includes(e.tab) || !e.page) continue;
    if (!groups[e.page]) {
      groups[e.page] = document.createElement("optgroup");
      groups[e.page].label = e.page;
      at("examples").append(groups[e.page]);
    }
    groups[e.page].append(new Option(e.title, e.name));
  }
  at("examples").addEventListener("change", () => {
    const name = at("examples").value;
    if (!name) return;
    location.hash = "example=" + name;
    at("examples").value = "";
  });
}

for (const name of names) {
  at("tab-" + name).addEventListener("click", () => choose(name));
  at("tab-" + name).addEventListener("keydown", event => {
    const next = names[(names.indexOf(name) + { ArrowRight: 1, ArrowLeft: names.length - 1 }[event.key]) % names.length];
    if (next) choose(next, true);
  });
}

/** choose opens a tab; one that is opened for the first time has its first example. */
function choose(name, focus) {
  const known = tabs[name];
  open(name, focus);
  if (!known) load(name, first(name) ?? {});
}

at("share").addEventListener("click", share);
addEventListener("hashchange", go);

examples = await (await fetch("examples.json")).json();
fill();
await go();
