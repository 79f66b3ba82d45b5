// The third tab: a scenario, its mistakes in the margin, and its run.
import { Superseded } from "./client.js";
import { clusterClient } from "./clustertab.js";
import { editor, yamlLanguage } from "./editor.js";
import { schemaCompletion } from "./schema.js";
import { way } from "./way.js";

const at = id => document.getElementById(id);

export function scenarioTab() {
  const shown = way(at("scenario-way"));
  let schema, files = [], begun = 0;
  fetch("scenario.schema.json").then(response => response.json()).then(read => { schema = read; });

  const scenario = editor(at("scenario-editor"), {
    label: "Scenario", language: yamlLanguage, changed: () => { at("files").value = ""; soon(); }, tooLong: text => tell(text, true),
    complete: schemaCompletion(() => schema),
  });
  fetch("files.json").then(response => response.json()).then(groups => {
    for (const group of groups) {
      const part = document.createElement("optgroup");
      part.label = group.title;
      for (const file of group.files) part.append(new Option(file.name, file.name));
      at("files").append(part);
    }
    files = groups.flatMap(group => group.files);
  });
  at("files").addEventListener("change", () => {
    const file = files.find(f => f.name === at("files").value);
    if (!file) return;
    scenario.set(file.text);
    check();
    run();
  });
  at("run").addEventListener("click", () => run());

  function tell(text, wrong) {
    at("scenario-read").textContent = text;
    at("scenario-read").className = wrong ? "wrong" : "status";
  }

  function soon() {
    clearTimeout(begun);
    begun = setTimeout(() => check(), 200);
  }

  async function check() {
    clearTimeout(begun);
    let checked;
    try {
      checked = await clusterClient().call("check", { text: scenario.text() });
    } catch (error) {
      if (!(error instanceof Superseded)) tell(error.message, true);
      return;
    }
    scenario.problems(checked.problems);
    const wrong = checked.problems.filter(p => !p.warning), first = wrong[0] ?? checked.problems[0];
    tell(first ? `${checked.problems.length} ${wrong.length ? "mistakes" : "warnings"}. Line ${first.line || "?"}, column ${first.column || "?"}: ${first.message}` :
      `${checked.objects} objects, ${checked.steps} steps, no mistakes`, wrong.length > 0);
  }

  async function run() {
    at("scenario-wrong").textContent = "";
    at("run").disabled = true;
    let ran;
    try {
      ran = await clusterClient().call("run", { text: scenario.text() });
    } catch (error) {
      if (!(error instanceof Superseded)) {
        shown.clear();
        at("scenario-wrong").textContent = error.message;
      }
      return;
    } finally {
      at("run").disabled = false;
    }
    if (ran.problems.length) {
      shown.clear();
      at("scenario-wrong").textContent = "It is not run: the scenario has mistakes.";
    } else shown.show(ran.body);
  }

  return {
    state: () => ({ scenario: scenario.text() }),
    async load(state) {
      scenario.set(state.scenario ?? "");
      await check();
      await run();
    },
  };
}
