// Speaks with the engine (`pages/web/src/exports.rs`): a request goes in as JSON, a document comes out as text. Pages have it
// in their worker; Node has it for checks.
async function connect(compiled, progress) {
  let exports, fault = '';
  const text = (at, length) => new TextDecoder().decode(new Uint8Array(exports.memory.buffer, at >>> 0, length));
  const page = { progress, panicked: (at, length) => { fault = text(at, length); } };
  ({ exports } = await WebAssembly.instantiate(compiled, { page }));
  return {
    /** Whether it has panicked: then it is of no more use. */
    isBroken: () => fault !== '',
    /** The text of the document that answers; throws what is wrong. */
    request(request) {
      const bytes = new TextEncoder().encode(JSON.stringify(request));
      // making room may move the memory
      const at = exports.request(bytes.length) >>> 0;
      new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
      let good;
      try {
        good = exports.answer();
      } catch (error) {
        fault ||= error.message;
        throw new Error(fault);
      }
      const found = text(exports.answer_start(), exports.answer_length());
      if (!good) throw new Error(found);
      return found;
    },
  };
}
