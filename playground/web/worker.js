// The worker of a program: it unpacks the WebAssembly, or takes the module that the page has kept, and answers one call after the other.
/* global Go, importScripts */
importScripts("wasm_exec.js");

async function compiled(program) {
  const packed = await fetch(program + ".wasm.gz");
  if (!packed.ok) throw new Error(program + ".wasm.gz: " + packed.status + " " + packed.statusText);
  // A server that calls the file's packing its own has the browser unpack it.
  const unpacked = packed.headers.get("Content-Encoding") === "gzip" ? packed.body : packed.body.pipeThrough(new DecompressionStream("gzip"));
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
