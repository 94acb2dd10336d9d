// The reader: requests as JSON, replies as bytes. What it lacks is fetched, and the request sent again.

const DONE = 0, FETCH = 1, END = 3;
/** Rounds of fetching for one request: each brings what was missing first, so that a damaged file cannot make them endless. */
const ROUNDS = 10_000;

/** The reader has ended, by a defect or for want of memory: only a new one can go on. */
export class Ended extends Error {}

export class Reader {
  #exports;
  #source = null;

  /** `module` is a WebAssembly.Module, which has no imports. */
  static async of(module) {
    const reader = new Reader();
    reader.#exports = (await WebAssembly.instantiate(module, {})).exports;
    return reader;
  }

  /** Opens a source: `len`, and `read(ranges)`, which gives `{ offset, bytes }` for each pair of first byte and end. */
  async open(source) {
    this.#source = source;
    const describe = await this.#run({ do: "open", len: source.len }, { do: "describe" });
    return JSON.parse(new TextDecoder().decode(describe.bytes));
  }

  /**
   * Makes a part: `form` is "values", "bytes", "csv" or "netcdf", and each part has the number of a variable, `start`, `count` and `stride`.
   * Gives pieces of bytes.
   */
  async *make(form, parts) {
    await this.#run({ do: "make", form, parts });
    for (;;) {
      const { status, bytes } = await this.#run({ do: "next" });
      if (status === END) return;
      yield bytes;
    }
  }

  async #run(request, again = request) {
    let reply = this.#call(request);
    for (let round = 0; reply.status === FETCH; round++) {
      if (round === ROUNDS) throw new Error("the file asks for its bytes without end");
      const ranges = JSON.parse(new TextDecoder().decode(reply.bytes));
      for (const { offset, bytes } of await this.#source.read(ranges)) this.#provide(offset, bytes);
      reply = this.#call(again);
    }
    if (reply.status !== DONE && reply.status !== END) throw new Error(new TextDecoder().decode(reply.bytes));
    return reply;
  }

  #call(request) {
    return this.#safely((e) => {
      this.#input(new TextEncoder().encode(JSON.stringify(request)));
      const status = e.nc3z_web_call();
      return { status, bytes: this.#output() };
    });
  }

  #provide(offset, bytes) {
    this.#safely((e) => {
      this.#input(bytes);
      e.nc3z_web_provide(BigInt(offset));
    });
  }

  #input(bytes) {
    const at = this.#exports.nc3z_web_input(bytes.length);
    new Uint8Array(this.#exports.memory.buffer, at >>> 0, bytes.length).set(bytes);
  }

  #output() {
    const { memory, nc3z_web_output: at, nc3z_web_output_len: len } = this.#exports;
    return new Uint8Array(memory.buffer, at() >>> 0, len() >>> 0).slice();
  }

  #safely(work) {
    if (!this.#exports) throw new Ended("the reader has ended");
    try {
      return work(this.#exports);
    } catch (e) {
      // A panic leaves its message where the reply would be; want of memory leaves none.
      let words = "";
      try { words = new TextDecoder().decode(this.#output()).slice(0, 1000); } catch { /* nothing to be read */ }
      this.#exports = null;
      throw new Ended(/panicked/.test(words) ? `the reader has a defect: ${words}` : `the reader ended, perhaps because memory ran out (${e.message})`);
    }
  }
}

/** A part of a variable for `make`: an index, or [first, stride, last], for each dimension; all of it without them. */
export function part_of(variable, shape, parts) {
  const spans = (parts ?? shape.map((len) => [0, 1, len - 1])).map((p) => (Array.isArray(p) ? p : [p, 1, p]));
  return { variable, start: spans.map((s) => s[0]), count: spans.map((s) => Math.floor((s[2] - s[0]) / s[1]) + 1), stride: spans.map((s) => s[1]) };
}
