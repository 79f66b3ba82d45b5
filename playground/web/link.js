// What a tab has, in the fragment of a link: packed, so that a server is not told of it.

/** The most characters of a fragment: what chats and mail programs pass on. */
export const linkLimit = 30_000;

const version = "1";

async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** fragmentOf is a state as a fragment. */
export async function fragmentOf(state) {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(state)));
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  return version + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** stateOf reads a fragment. A link that somebody has cut, or that unpacks to more than a link can hold in good faith, is an error. */
export async function stateOf(fragment) {
  if (fragment[0] !== version) throw new Error("the link is of another version of this page");
  if (fragment.length > linkLimit) throw new Error("the link is longer than links of this page are");
  let state;
  try {
    const bytes = Uint8Array.from(atob(fragment.slice(1).replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    const parts = [];
    for (let size = 0; ;) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      if ((size += value.length) > 5_000_000) throw new Error("too much");
    }
    state = JSON.parse(await new Blob(parts).text());
  } catch {
    throw new Error("the link is damaged: it may have been cut off");
  }
  const texts = {};
  for (const [key, value] of Object.entries(state ?? {})) if (typeof value === "string") texts[key] = value;
  return texts;
}
