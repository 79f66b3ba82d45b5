// The worker of a program: it unpacks the WebAssembly, or takes the module that the page has kept, and answers one call after the other.
/* global Go, importScripts */
import { Decompress } from "fzstd";

importScripts("wasm_exec.js");

/** unpacking is a stream that unpacks Zstandard, which browsers do not do by themselves yet. */
function unpacking() {
  let unpack;
  return new TransformStream({
    start(to) { unpack = new Decompress(part => to.enqueue(part)); },
    transform(part) { unpack.push(part); },
    flush() { unpack.push(new Uint8Array(0), true); },
  });
}

async function compiled(program) {
  const file = program + ".wasm.zst", packed = await fetch(file);
  if (!packed.ok) throw new Error(file + ": " + packed.status + " " + packed.statusText);
  // A server that calls the file's packing its own has the browser unpack it.
  const unpacked = packed.headers.get("Content-Encoding") === "zstd" ? packed.body : packed.body.pipeThrough(unpacking());
  return WebAssembly.compileStreaming(new Response(unpacked, { headers: { "Content-Type": "application/wasm" } }));
}

self.onmessage = async ({ data }) => {
  if (data.start) {
    try {
      const module = data.module || await compiled(data.start);
      const go = new Go();
      const instance = await WebAssembly.instantiate(module, go.importObject);
      self.chainwalkReady = () => postMessage({ ready: true, module });
      go.run(instance).then(() => postMessage({ ended: true }), () => postMessage({ ended: true }));
    } catch (error) {
      postMessage({ failed: String(error.message || error) });
    }
    return;
  }
  postMessage({ id: data.id, reply: self.chainwalkCall(data.method, data.params) });
};
