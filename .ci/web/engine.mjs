// The engine under Node: foretell.wasm, JSON in and out.
import { readFileSync } from 'node:fs';

export class Engine {
  static async load(file, progress = () => {}) {
    const engine = new Engine();
    const text = (start, length) =>
      new TextDecoder().decode(new Uint8Array(engine.exports.memory.buffer, start, length));
    const page = { progress, panicked: (start, length) => { engine.fault = text(start, length); } };
    const { instance } = await WebAssembly.instantiate(readFileSync(file), { page });
    engine.exports = instance.exports;
    engine.text = text;
    return engine;
  }

  /** The text of the document that answers; throws what is wrong. */
  request(request) {
    const { request: room, answer, answer_start: start, answer_length: length, memory } = this.exports;
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const at = room(bytes.length) >>> 0;
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
    let good;
    try {
      good = answer();
    } catch (error) {
      throw new Error(this.fault ?? error.message);
    }
    const found = this.text(start() >>> 0, length());
    if (!good) throw new Error(found);
    return found;
  }
}
