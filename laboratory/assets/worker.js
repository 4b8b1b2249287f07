// Holds engines, one for each slot, and answers what the page asks of them.
'use strict';
let compiled;
const engines = new Map();

async function unpack(packed) {
  const binary = atob(packed.trim());
  const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

async function start(slot) {
  const engine = { fault: '' };
  const text = (at, length) => new TextDecoder().decode(new Uint8Array(engine.exports.memory.buffer, at >>> 0, length));
  let last = 0;
  const progress = (part) => {
    if (performance.now() - last < 100) return;
    last = performance.now();
    postMessage({ progress: part });
  };
  const instance = await WebAssembly.instantiate(await compiled, {
    page: { progress, panicked: (at, length) => { engine.fault = text(at, length); } },
  });
  engine.exports = instance.exports;
  engine.request = (request) => {
    const { request: room, answer, answer_start: begins, answer_length: length, memory } = engine.exports;
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    new Uint8Array(memory.buffer, room(bytes.length) >>> 0, bytes.length).set(bytes);
    let good;
    try {
      good = answer();
    } catch (error) {
      engines.delete(slot);
      throw new Error(engine.fault || error.message);
    }
    const found = text(begins(), length());
    if (!good) throw new Error(found);
    return found;
  };
  engines.set(slot, engine);
  return engine;
}

onmessage = async ({ data }) => {
  if (data.packed) {
    compiled = unpack(data.packed);
    compiled.catch(() => {});
    return;
  }
  try {
    await compiled;
    const engine = engines.get(data.slot) ?? await start(data.slot);
    const begun = performance.now();
    const answers = [];
    let seconds = 0;
    for (const request of data.requests) {
      answers.push(engine.request(request));
      if (request.do === 'run') seconds = (performance.now() - begun) / 1000;
    }
    postMessage({ id: data.id, answers, seconds });
  } catch (error) {
    postMessage({ id: data.id, error: error.message });
  }
};
