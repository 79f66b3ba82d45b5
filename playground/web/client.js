// Calls of a program in its worker, each with a limit of time: a worker that takes longer is ended, and the next call has a new one.

/** Superseded is the error of a call that a newer one of its method has taken the place of. */
export class Superseded extends Error {}

/** The most characters that a text may have, and the most milliseconds that a call may take: of a slow machine, ?seconds=N of the address. */
export const limits = { text: 20_000_000, time: 1000 * Math.min(Math.max(Number(new URLSearchParams(location.search).get("seconds")) || 5, 1), 600), start: 120_000 };

export class Client {
  /** @param program the name of the program. @param first the method whose last call a new worker is given before any other. */
  constructor(program, first) {
    this.program = program;
    this.first = first;
    this.queue = [];
    this.ids = 0;
  }

  /** call has a method answered; a call of it that is not begun is given up. */
  call(method, params) {
    const text = JSON.stringify(params);
    if (text.length > limits.text) {
      const most = Math.round(limits.text / 1e6), has = (text.length / 1e6).toFixed(1);
      return Promise.reject(new Error(`The text has ${has} MB, and this page reads ${most} MB: run chainwalk in a terminal, or paste less.`));
    }
    return new Promise((resolve, reject) => {
      this.queue = this.queue.filter(c => c.method !== method || !c.reject(new Superseded()) && false);
      const call = { method, params: text, resolve, reject };
      if (method === this.first) {
        this.kept = text;
        this.queue.unshift(call);
      } else this.queue.push(call);
      this.next();
    });
  }

  /** next sends the call that comes next, if nothing is under way. */
  next() {
    if (this.current || !this.queue.length) return;
    if (!this.worker) this.start();
    if (!this.ready) return;
    if (this.fresh && this.kept && this.queue[0].method !== this.first) {
      this.queue.unshift({ method: this.first, params: this.kept, resolve() {}, reject() {} });
    }
    this.current = this.queue.shift();
    if (this.current.method === this.first) this.fresh = false;
    this.current.id = ++this.ids;
    this.timer = setTimeout(() => this.stopped(
      `It took longer than ${limits.time / 1000} s and was stopped. Give fewer rules that leave the way to chance, or run chainwalk in a terminal.`), limits.time);
    this.worker.postMessage({ id: this.current.id, method: this.current.method, params: this.current.params });
  }

  start() {
    this.ready = false;
    this.fresh = true;
    const early = globalThis.chainwalkEarly?.[this.program]; // early.js has started it
    if (early) delete globalThis.chainwalkEarly[this.program];
    this.worker = early ?? new Worker("worker.js");
    this.worker.onmessage = ({ data }) => this.heard(data);
    this.worker.onerror = event => { event.preventDefault(); this.stopped("The program failed: " + event.message); };
    this.timer = setTimeout(() => this.stopped("The program did not start within " + limits.start / 1000 + " s."), limits.start);
    if (!early) this.worker.postMessage({ start: this.program, module: this.module });
    else if (early.said) queueMicrotask(() => this.heard(early.said));
  }

  heard(data) {
    if (data.ready) {
      clearTimeout(this.timer);
      this.module = data.module;
      this.ready = true;
    } else if (data.failed || data.ended) {
      this.stopped(data.failed ? "The program could not be loaded: " + data.failed : "The program ended: it may have had too little memory.");
      return;
    } else if (this.current && data.id === this.current.id) {
      clearTimeout(this.timer);
      const call = this.current;
      this.current = undefined;
      const reply = JSON.parse(data.reply);
      if (reply.error) call.reject(new Error(reply.error)); else call.resolve(reply.result);
    }
    this.next();
  }

  /** stopped ends the worker and what it is at. What it was asked to keep is not given to the next one if it was that. */
  stopped(why) {
    clearTimeout(this.timer);
    this.worker.terminate();
    this.worker = undefined;
    const calls = this.current ? [this.current] : this.queue.splice(0);
    if (this.current && this.current.method === this.first) this.kept = undefined;
    this.current = undefined;
    for (const call of calls) call.reject(new Error(why));
    this.next();
  }
}
