// Editors: each in a shadow root, where CodeMirror adopts its style sheets, so that the page's policy allows no inline style.
import { acceptCompletion, autocompletion, closeCompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { yaml } from "@codemirror/lang-yaml";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { limits } from "./client.js";

const colours = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--sheet)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--soft)", border: "none" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "light-dark(#cfe2fb, #2a4568)" },
  ".cm-met": { backgroundColor: "light-dark(#fff3d1, #3a2f10)" },
  ".cm-own": { backgroundColor: "light-dark(#e3eefb, #1d3048)" },
  ".cm-tooltip": { backgroundColor: "var(--sheet)", color: "var(--ink)", border: "1px solid var(--rule)", borderRadius: "6px", maxWidth: "min(40rem, 90vw)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--sheet)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "14em" },
  ".cm-completionDetail": { color: "inherit" },
  ".cm-completionMatchedText": { fontWeight: "bold", textDecoration: "none" },
  ".cm-tip": { padding: ".3rem .6rem", whiteSpace: "pre-wrap", font: "12px/1.5 var(--mono)" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap" },
  ".cm-lint-marker": { width: ".8em", height: ".8em" },
});

const highlights = syntaxHighlighting(HighlightStyle.define([
  { tag: tags.comment, color: "var(--soft)" },
  { tag: [tags.keyword, tags.heading], color: "light-dark(#6d3fc0, #c2a3ff)", fontWeight: "600" },
  { tag: [tags.string, tags.quote], color: "var(--good)" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName), tags.attributeName], color: "var(--accent)" },
  { tag: [tags.number, tags.bool], color: "light-dark(#0f6b6b, #6fd3d3)" },
  { tag: tags.name, color: "light-dark(#8a4b00, #e0b060)" },
]));

/** The languages of iptables-save and nft, as far as colours go. */
export const rulesLanguage = StreamLanguage.define({
  startState: () => ({ target: false }),
  token(stream, state) {
    if (stream.sol()) {
      state.target = false;
      if (stream.match(/^#.*/)) return "comment";
      if (stream.match(/^\*\S*/) || stream.match(/^COMMIT/)) return "keyword";
      if (stream.match(/^:\S*/)) return "name";
      if (stream.match(/^\s*(?:table|chain|set|map|type|hook|counter|flowtable)\b/)) return "keyword";
    }
    if (stream.match(/^[@](?=\w)[\w./-]+/)) return "name";
    if (stream.match(/^(?:accept|drop|reject|jump|goto|return|dnat|snat|masquerade|redirect|vmap|policy)\b(?![-./])/)) return "propertyName";
    if (stream.eatSpace()) return null;
    if (stream.match(/^"(\\.|[^"])*"?/)) return "string";
    const option = stream.match(/^--?[A-Za-z][\w-]*/);
    if (option) {
      state.target = ["-j", "-g", "-A"].includes(option[0]);
      return "propertyName";
    }
    stream.match(/^[^\s"]+/) || stream.next();
    if (state.target) {
      state.target = false;
      return "name";
    }
    return null;
  },
});

const setLines = StateEffect.define();
const markedLines = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    marks = marks.map(transaction.changes);
    for (const effect of transaction.effects) if (effect.is(setLines)) {
      const { doc } = transaction.state;
      marks = Decoration.set(effect.value.lines.filter(n => n >= 1 && n <= doc.lines)
        .map(n => Decoration.line({ class: effect.value.name }).range(doc.line(n).from)));
    }
    return marks;
  },
  provide: field => EditorView.decorations.from(field),
});

/**
 * editor makes one in an element. changed is told of new texts, tooLong of a text that is beyond the limit, complete gives completions, tip
 * what is said of a line on hover, moved is told of the line of the cursor.
 */
export function editor(host, { label, language = [], line = false, readOnly = false, changed, tooLong, complete, tip, moved, enter }) {
  const root = host.attachShadow({ mode: "open" });
  const place = document.createElement("div");
  root.append(place);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(":host > div, .cm-editor { height: 100%; }");
  root.adoptedStyleSheets = [sheet];
  let quiet = false;
  const keys = [...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap];
  const extensions = [
    history(), drawSelection(), colours, highlights, language, markedLines,
    EditorState.readOnly.of(readOnly),
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off", ...(readOnly && { tabindex: "0" }) }),
    EditorState.transactionFilter.of(transaction => {
      if (transaction.docChanged && transaction.newDoc.length > limits.text) {
        tooLong?.(`A text of ${(transaction.newDoc.length / 1e6).toFixed(0)} MB is refused: this page reads ${limits.text / 1e6} MB. Run chainwalk in a terminal.`);
        return [];
      }
      return line && transaction.newDoc.lines > 1 ? [] : transaction;
    }),
    EditorView.domEventHandlers({
      paste(event) {
        const text = event.clipboardData?.getData("text/plain") ?? "";
        if (text.length <= limits.text) return false;
        event.preventDefault();
        tooLong?.(`A text of ${(text.length / 1e6).toFixed(0)} MB is refused: this page reads ${limits.text / 1e6} MB. Run chainwalk in a terminal.`);
        return true;
      },
    }),
    EditorView.updateListener.of(update => {
      if (update.docChanged && !quiet) changed?.(update.state.doc.toString());
      if (moved && (update.selectionSet || update.docChanged || update.focusChanged)) moved(update.state.doc.lineAt(update.state.selection.main.head).number);
    }),
    line ? [EditorView.lineWrapping, Prec.high(keymap.of([{ key: "Enter", run: view => acceptCompletion(view) || (enter?.(), true) }]))] : [lineNumbers(), lintGutter()],
    complete ? autocompletion({ override: [complete], activateOnTyping: true }) : [],
    tip ? hoverTooltip((view, at) => {
      const found = view.state.doc.lineAt(at), text = tip(found.number);
      return text ? { pos: found.from, above: true, create() {
        const dom = document.createElement("div");
        dom.className = "cm-tip";
        dom.textContent = text;
        return { dom };
      } } : null;
    }) : [],
    keymap.of(keys),
  ];
  const view = new EditorView({ parent: place, root, state: EditorState.create({ extensions }) });
  return {
    view,
    text: () => view.state.doc.toString(),
    /** set puts a text in, and says so to nobody. */
    set(text) {
      quiet = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor: 0 } });
      quiet = false;
      closeCompletion(view);
    },
    /** mark gives lines a class. */
    mark(lines, name = "cm-met") { view.dispatch({ effects: setLines.of({ lines, name }) }); },
    /** show brings a line into view. */
    show(number, focus) {
      const { doc } = view.state;
      const found = doc.line(Math.min(Math.max(number, 1), doc.lines));
      view.dispatch({ selection: { anchor: found.from }, effects: EditorView.scrollIntoView(found.from, { y: "center" }) });
      if (focus) view.focus();
    },
    reveal(number) {
      const { doc } = view.state;
      view.dispatch({ effects: EditorView.scrollIntoView(doc.line(Math.min(Math.max(number, 1), doc.lines)).from, { y: "center" }) });
    },
    /** problems stand at their places: a line and a column from 1, and a word. */
    problems(list) {
      const { doc } = view.state;
      view.dispatch(setDiagnostics(view.state, list.map(p => {
        const found = doc.line(Math.min(Math.max(p.line || 1, 1), doc.lines));
        // Columns count characters, and the text has UTF-16.
        const before = [...found.text].slice(0, Math.max((p.column || 1) - 1, 0)).join("").length;
        const from = Math.min(found.from + before, found.to);
        const word = p.token && found.text.startsWith(p.token, before) ? p.token.length : (/^\S+/.exec(found.text.slice(before))?.[0].length ?? 0);
        return { from, to: p.column ? Math.min(from + word, found.to) : found.to, severity: p.warning ? "warning" : "error", message: p.message };
      })));
    },
  };
}

/** The language of objects and scenarios. */
export const yamlLanguage = yaml();
