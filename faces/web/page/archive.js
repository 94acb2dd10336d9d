// A file that is open in the worker. Where the worker ends, or is stopped, the next request gets another, and opens the file again.

export class Archive {
  #worker = null; #waiting = new Map(); #next = 0; #watch; #opened = null;

  /** `watch({ requests, bytes, busy })` is told what goes on. */
  constructor(watch) { this.#watch = watch; }

  /** Opens `{ url }` or `{ file }`; gives the description. */
  async open(place) {
    this.#opened = null;
    const found = await this.#ask({ what: "open", ...place });
    this.#opened = place;
    return found;
  }

  /** Makes a part as a Blob; `variable` is its number. */
  async make(form, variable, shape, parts) {
    if (!this.#worker && this.#opened) await this.#ask({ what: "open", ...this.#opened });
    return this.#ask({ what: "make", form, variable, shape, parts });
  }

  async values(...part) { return new Float64Array(await (await this.make("values", ...part)).arrayBuffer()); }

  /** Ends what is being done. */
  stop() { this.#end("Stopped."); }

  #ask(request) {
    this.#worker ??= this.#start();
    const id = this.#next++;
    return new Promise((done, failed) => {
      this.#waiting.set(id, { done, failed });
      this.#watch({ busy: true });
      this.#worker.postMessage({ id, ...request });
    });
  }

  #start() {
    const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }) => {
      if (data.id === undefined) { this.#watch(data); return; }
      const { done, failed } = this.#waiting.get(data.id) ?? {};
      this.#waiting.delete(data.id);
      if (data.error === undefined) done?.(data.found);
      else failed?.(new Error(data.error));
      if (data.ended) this.#end(data.error);
      this.#watch({ busy: this.#waiting.size > 0 });
    };
    worker.onerror = (e) => { e.preventDefault(); this.#end(`the reader could not be started or has ended (${e.message ?? "no reason is given"})`); };
    return worker;
  }

  #end(why) {
    this.#worker?.terminate();
    this.#worker = null;
    for (const { failed } of this.#waiting.values()) failed(new Error(why));
    this.#waiting.clear();
    this.#watch({ busy: false });
  }
}
