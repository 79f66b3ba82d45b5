// The first tab: rules, a packet, and its way, which changes as one types.
import { Client, Superseded } from "./client.js";
import { editor, rulesLanguage } from "./editor.js";
import { arrows, listOf, packetList } from "./list.js";
import { packetCompletion } from "./packet.js";
import { way } from "./way.js";

const at = id => document.getElementById(id);
const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

export function rulesTab() {
  const client = new Client("rules", "read");
  const shown = way(at("rules-way"));
  let named = {}, naming, idle, turn = 0;

  const rules = editor(at("rules-editor"), { label: "Rules", language: rulesLanguage, changed: () => ask(), tooLong: text => tell(text) });
  const packet = editor(at("packet-editor"), {
    label: "Packet", line: true, changed: () => walk(), complete: packetCompletion(names), tooLong: text => { at("packet-wrong").textContent = text; },
  });
  at("local").addEventListener("input", () => ask());
  at("tools").addEventListener("change", () => ask());
  at("about-filter").addEventListener("input", () => listPackets());
  for (const list of ["about-list", "unmet-list"]) arrows(at(list));

  function tell(text, wrong) {
    at("rules-read").textContent = text;
    at("rules-read").className = wrong ? "wrong" : "status";
  }

  function failed(error, where) {
    if (error instanceof Superseded) return;
    shown.clear();
    where.textContent = error.message;
  }

  /** ask has the rules read, and then the packet walked. */
  async function ask() {
    const began = performance.now();
    clearTimeout(idle);
    naming = undefined;
    let read;
    try {
      read = await client.call("read", { text: rules.text(), local: at("local").value, tools: at("tools").value });
    } catch (error) {
      if (!(error instanceof Superseded)) {
        rules.problems([]);
        tell(error.message, true);
        shown.clear();
      }
      return;
    }
    rules.problems(read.problems);
    at("local-wrong").textContent = read.local;
    const wrong = read.problems.find(p => !p.warning);
    const place = wrong?.line ? `Line ${wrong.line}${wrong.column ? ", column " + wrong.column : ""}: ` : "";
    tell(wrong ? place + wrong.message :
      `${count(read.rules, "rule")} in ${count(read.chains, "chain")} of ${count(read.tables, "table")}`, Boolean(wrong));
    await walk(began);
  }

  /** names are what the rules name and are about: of the rules as they are, which are asked for it once. */
  async function names() {
    for (;;) {
      naming ??= client.call("name", {});
      const mine = naming;
      let answer;
      try {
        answer = await mine;
      } catch (error) {
        if (mine !== naming) continue; // there are other rules
        at("about-summary").textContent = error.message;
        return {};
      }
      if (mine !== naming) continue;
      if (named !== answer) {
        named = answer;
        listPackets();
      }
      return named;
    }
  }

  /** name lists what the rules name and are about, and walks the first of the packets if there is none. */
  async function name() {
    await names();
    if (packet.text() || !named.packets?.length) return;
    packet.set(named.packets[0].packet);
    await walk();
  }

  function listPackets() {
    const filter = at("about-filter").value.trim().toLowerCase(), all = named.packets ?? [];
    const some = all.filter(p => (p.packet + " " + p.of).toLowerCase().includes(filter));
    at("about-summary").textContent = `Packets that the rules are about (${all.length + (named.more ?? 0)})`;
    packetList(at("about-list"), some, {
      current: packet.text(), chosen: text => { packet.set(text); walk(); },
      note: named.more ? `and ${named.more} more, which are tried all the same` : "",
    });
  }

  async function walk(began = performance.now()) {
    clearTimeout(idle);
    turn++;
    idle = setTimeout(() => later(), 300);
    const text = packet.text().trim();
    for (const button of at("about-list").querySelectorAll("button")) {
      if (button.querySelector("code").textContent === text) button.setAttribute("aria-current", "true"); else button.removeAttribute("aria-current");
    }
    if (!text) {
      shown.clear();
      packet.problems([]);
      at("packet-wrong").textContent = "";
      return;
    }
    let walked;
    try {
      walked = await client.call("walk", { packet: text });
    } catch (error) {
      failed(error, at("packet-wrong"));
      return;
    }
    packet.problems(walked.problem?.column ? [walked.problem] : []);
    at("packet-wrong").textContent = walked.problem ? (walked.problem.column ? `Column ${walked.problem.column}: ` : "") + walked.problem.message : "";
    rules.mark(walked.lines ?? []);
    if (walked.problem) shown.clear(); else shown.show(walked.body);
    performance.measure("chainwalk-answer", { start: began, end: performance.now() });
  }

  /** later is done once nobody has typed for a while. */
  async function later() {
    await name();
    await tried(packet.text().trim());
  }

  /** tried says which rules no packet of the list met, nor the one that is asked for. It is asked for part by part, until somebody types. */
  async function tried(text) {
    const mine = turn;
    let out;
    try {
      do out = await client.call("try", { packet: text }); while (out.more && mine === turn);
    } catch (error) {
      if (!(error instanceof Superseded)) at("unmet-claim").textContent = error.message;
      return;
    }
    if (mine !== turn) return;
    const number = out.unmet.length, doc = rules.view.state.doc;
    at("unmet-summary").textContent = `Rules that no packet met (${number} of ${out.rules})`;
    at("unmet-claim").textContent = `Tried: ${out.packets} packets, those of the list${out.left ? ` (${out.left} more were left out)` : ""} and yours, each as the first ` +
      `of a connection, with the reply where that is known to come back through the node. ${out.unknown ? `${out.unknown} of them end at a rule that chainwalk does not know. ` : ""}` +
      "A rule stands here if none of them met it. Another packet may meet it.";
    listOf(at("unmet-list"), out.unmet.slice(0, 500).filter(n => n <= doc.lines).map(n => ({
      parts: [["span", "number", String(n)], ["span", "", doc.line(n).text]], chosen: () => rules.show(n, true),
    })), number > 500 ? `and ${number - 500} more` : "");
  }

  return {
    state: () => ({ rules: rules.text(), local: at("local").value, tools: at("tools").value, packet: packet.text() }),
    load(state) {
      rules.set(state.rules ?? "");
      at("local").value = state.local ?? "";
      at("tools").value = state.tools ?? "";
      packet.set(state.packet ?? "");
      return ask();
    },
    open() {},
  };
}
