// This starts the first tab's program before main.js, with its editor, is read: unpacking and compiling it is most of what a first visitor
// waits for. A link may be to another tab, so it waits for main.js.
if (!location.hash) {
  const worker = new Worker("worker.js");
  worker.onmessage = ({ data }) => { worker.said = data; };
  worker.onerror = event => { event.preventDefault(); worker.said = { failed: event.message }; };
  worker.postMessage({ start: "rules" });
  globalThis.chainwalkEarly = { rules: worker };
}
