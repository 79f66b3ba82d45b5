// The second tab: objects, what kube-proxy writes for them on a node, and what becomes of connections.
import { Client, Superseded } from "./client.js";
import { editor, rulesLanguage, yamlLanguage } from "./editor.js";
import { arrows, packetList } from "./list.js";
import { packetCompletion } from "./packet.js";
import { way } from "./way.js";

const at = id => document.getElementById(id);

/** Both tabs that need a whole cluster share one program. */
let client;
export const clusterClient = () => client ??= new Client("cluster", "read");

export function clusterTab() {
  const shown = way(at("cluster-way"));
  let read = {}, begun = 0, marked = "";

  const objects = editor(at("objects-editor"), {
    label: "Objects", language: yamlLanguage, changed: () => soon(), tooLong: text => tell(text, true), moved: line => own(line),
    tip: line => ruleTip(objectAt(line)),
  });
  const packet = editor(at("cluster-packet-editor"), {
    label: "Packet", line: true, changed: () => walk(), complete: packetCompletion(() => ({ names: read.names })),
  });
  const written = editor(at("node-rules"), {
    label: "Rules of the node", language: rulesLanguage, readOnly: true, tip: line => ownerOf(line),
    moved: line => { at("node-rule-of").textContent = ownerOf(line); },
  });
  at("node").addEventListener("change", () => ask());
  at("mode").addEventListener("change", () => ask());
  arrows(at("cluster-about-list"));

  function tell(text, wrong) {
    at("objects-read").textContent = text;
    at("objects-read").className = wrong ? "wrong" : "status";
  }

  const ownerOf = line => read.owners?.[line - 1] ? `line ${line}: written for ${read.owners[line - 1]}` : "";
  const objectAt = line => read.objects?.findLast(o => o.line <= line);

  function ruleTip(object) {
    if (!object) return "";
    const lines = read.rules.split("\n");
    const some = object.rules.slice(0, 12).map(n => lines[n - 1]);
    const more = object.rules.length - some.length;
    return `${object.name}: ${object.rules.length} rules on ${read.node}\n${some.join("\n")}${more > 0 ? `\nand ${more} more` : ""}`;
  }

  /** own marks the rules of the object that the cursor is in. */
  function own(line) {
    const object = objectAt(line);
    if (!object || object.name === marked) return;
    marked = object.name;
    written.mark(object.rules, "cm-own");
    if (object.rules.length) written.reveal(object.rules[0]);
    at("node-rule-of").textContent = `${object.rules.length} rules were written for ${object.name}`;
  }

  /** soon asks when nobody has typed for a while: a cluster takes longer than rules. */
  function soon() {
    clearTimeout(begun);
    begun = setTimeout(() => ask(), 250);
  }

  async function ask() {
    clearTimeout(begun);
    tell("kube-proxy is at work…");
    try {
      read = await clusterClient().call("read", { text: objects.text(), node: at("node").value, mode: at("mode").value });
    } catch (error) {
      if (!(error instanceof Superseded)) {
        read = {};
        tell(error.message, true);
        shown.clear();
      }
      return;
    }
    objects.problems(read.problems);
    const wrong = read.problems.find(p => !p.warning);
    tell(wrong ? (wrong.line ? `Line ${wrong.line}, column ${wrong.column}: ` : "") + wrong.message :
      [`${read.objects.length} objects, ${read.nodes.length} nodes`, ...read.notes].join(". "), Boolean(wrong));
    at("node").replaceChildren(...read.nodes.map(n => new Option(n, n, false, n === read.node)));
    written.set(read.rules ?? "");
    at("node-rules-summary").textContent = read.rules ? `The rules that kube-proxy writes on ${read.node} (${read.rules.split("\n").filter(l => l.startsWith("-A")).length})` :
      "The rules that kube-proxy writes";
    marked = "";
    own(objects.view.state.doc.lineAt(objects.view.state.selection.main.head).number);
    listPackets();
    if (!packet.text() && read.packets.length) packet.set(read.packets[0].packet);
    await walk();
  }

  function listPackets() {
    at("cluster-about-summary").textContent = `Packets that the objects are about (${read.packets?.length ?? 0})`;
    packetList(at("cluster-about-list"), (read.packets ?? []).slice(0, 300), {
      current: packet.text(), chosen: text => { packet.set(text); walk(); },
      note: (read.packets?.length ?? 0) > 300 ? `and ${read.packets.length - 300} more` : "",
    });
  }

  async function walk() {
    const text = packet.text().trim();
    for (const button of at("cluster-about-list").querySelectorAll("button")) {
      if (button.querySelector("code").textContent === text) button.setAttribute("aria-current", "true"); else button.removeAttribute("aria-current");
    }
    if (!text || !read.nodes?.length || read.problems?.some(p => !p.warning)) {
      shown.clear();
      return;
    }
    let walked;
    try {
      walked = await clusterClient().call("walk", { packet: text });
    } catch (error) {
      if (!(error instanceof Superseded)) at("cluster-packet-wrong").textContent = error.message;
      return;
    }
    packet.problems(walked.problem?.column ? [walked.problem] : []);
    at("cluster-packet-wrong").textContent = walked.problem ? (walked.problem.column ? `Column ${walked.problem.column}: ` : "") + walked.problem.message : "";
    if (walked.problem) shown.clear(); else shown.show(walked.body);
  }

  return {
    state: () => ({ objects: objects.text(), node: at("node").value, mode: at("mode").value, packet: packet.text() }),
    load(state) {
      objects.set(state.objects ?? "");
      if (state.node) at("node").replaceChildren(new Option(state.node, state.node, false, true));
      at("mode").value = state.mode || "legacy";
      packet.set(state.packet ?? "");
      return ask();
    },
  };
}
