// Completion of YAML by a JSON Schema: the keys that an object may have, and the words that a key takes.

/** indentOf is how far a line is indented, and whether a "- " is part of that. */
function indentOf(line) {
  const [, blanks, dashes] = /^( *)((?:- +)*)/.exec(line);
  return { item: blanks.length, key: blanks.length + dashes.length, dash: dashes.length > 0 };
}

/** pathAt are the keys that lead to a place, from the root: "[]" is an item of a list. Keys of the same block and the word there come along. */
export function pathAt(lines, number, column) {
  const before = lines[number].slice(0, column);
  const flow = flowAt(lines, number, column);
  const path = flow.path;
  let { key: level, item, dash } = indentOf(flow.line === number ? before : lines[flow.line]);
  if (flow.path.length === 0) {
    const word = /^[ -]*([\w-]+): +(\S*)$/.exec(before);
    if (word) path.unshift(word[1]);
  } else {
    const own = /^[ -]*([\w-]+): *$/.exec(lines[flow.line].slice(0, flow.column));
    if (own) path.unshift(own[1]);
  }
  if (dash) { path.unshift("[]"); level = item; }
  for (let i = (flow.path.length ? flow.line : number) - 1; i >= 0 && level >= 0; i--) {
    const line = lines[i];
    if (!line.trim() || /^\s*#/.test(line)) continue;
    const at = indentOf(line);
    const opens = /^[ -]*([\w-]+): *(#.*)?$/.exec(line);
    // The items of a list may stand as far left as its key.
    const listKey = path[0] === "[]" && at.key <= level && opens && !(at.dash && at.item === level);
    if (!(at.key < level || listKey)) continue;
    if (opens) path.unshift(opens[1]);
    level = at.key;
    if (at.dash) { path.unshift("[]"); level = at.item; }
  }
  return path;
}

/** flowAt is the path within braces that are open at a place, and where the outermost begins. */
function flowAt(lines, number, column) {
  const open = [];
  let start = number;
  for (let i = number; i >= 0 && number - i < 40; i--) {
    start = i;
    if (i < number && /^[ -]*[\w-]+:/.test(lines[i]) && i !== number) break;
  }
  for (let i = start; i <= number; i++) {
    const text = (i === number ? lines[i].slice(0, column) : lines[i]).replace(/"(\\.|[^"\\])*"|'[^']*'/g, s => " ".repeat(s.length));
    for (let k = 0; k < text.length; k++) {
      if (text[k] === "{" || text[k] === "[") open.push({ line: i, column: k, kind: text[k], key: /([\w-]+): *$/.exec(text.slice(0, k))?.[1] });
      else if (text[k] === "}" || text[k] === "]") open.pop();
    }
  }
  if (!open.length) return { path: [], line: number, column };
  const path = [];
  open.forEach((o, i) => {
    if (i > 0 && o.key) path.push(o.key);
    if (o.kind === "[") path.push("[]");
  });
  const value = /(?:^|[{,] *)([\w-]+): +\S*$/.exec(lines[number].slice(open.at(-1).line === number ? open.at(-1).column : 0, column));
  if (value) path.push(value[1]);
  return { path: path.length ? path : [""], line: open[0].line, column: open[0].column };
}

/** at follows a path into a schema: all schemas that may hold there. */
function schemasAt(root, path) {
  const expand = schema => {
    if (!schema || typeof schema !== "object") return [];
    if (schema.$ref) return expand(schema.$ref.split("/").slice(1).reduce((s, part) => s?.[part], root));
    return [schema, ...["anyOf", "oneOf", "allOf"].flatMap(k => (schema[k] ?? []).flatMap(expand))];
  };
  let now = expand(root);
  for (const step of path) {
    if (!step) continue;
    now = now.flatMap(s => step === "[]" ? expand(s.items) : [...expand(s.properties?.[step]), ...(s.properties?.[step] ? [] : expand(s.additionalProperties))]);
  }
  return now;
}

/** schemaCompletion completes by the schema that given() returns, once it is there. */
export function schemaCompletion(given) {
  return context => {
    const schema = given();
    if (!schema) return null;
    const line = context.state.doc.lineAt(context.pos), column = context.pos - line.from;
    const before = line.text.slice(0, column), word = /[\w-]*$/.exec(before)[0].replace(/^-+/, "");
    if (!word && !context.explicit || /#/.test(before)) return null;
    const first = Math.max(1, line.number - 400), lines = [];
    for (let n = first; n <= line.number; n++) lines.push(context.state.doc.line(n).text);
    const found = schemasAt(schema, pathAt(lines, lines.length - 1, column));
    const options = new Map();
    for (const one of found) {
      for (const [label, of] of Object.entries(one.properties ?? {})) {
        options.set(label, { label, apply: label + ": ", type: "property", info: of.description, detail: of.type });
      }
      for (const label of one.enum ?? (one.const !== undefined ? [one.const] : [])) options.set(String(label), { label: String(label), type: "constant" });
    }
    return options.size ? { from: context.pos - word.length, options: [...options.values()], validFor: /^[\w-]*$/ } : null;
  };
}
