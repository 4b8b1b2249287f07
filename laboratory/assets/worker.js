// Holds engines, one for each slot, and answers what the page asks of them.
let unpacked;
// requests may come before the engine does
const compiled = new Promise((resolve, reject) => { unpacked = { resolve, reject }; });
const engines = new Map();

async function unpack(packed) {
  // four bytes in five letters, as laboratory/src/base85.rs has it
  const digit = (at) => { const code = packed.charCodeAt(at); return code < 60 ? code - 35 : code - 36; };
  const left = packed.length % 5, bytes = new Uint8Array(Math.floor(packed.length / 5) * 4 + Math.max(0, left - 1));
  for (let at = 0, to = 0; at < packed.length; at += 5) {
    let value = 0;
    for (let place = 0; place < 5; place += 1) value = value * 85 + (at + place < packed.length ? digit(at + place) : 84);
    for (let shift = 24; shift >= 0 && to < bytes.length; shift -= 8, to += 1) bytes[to] = (value >>> shift) & 255;
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

async function start(slot) {
  let last = 0;
  const engine = await connect(await compiled, (part) => {
    if (performance.now() - last < 100) return;
    last = performance.now();
    postMessage({ progress: part });
  });
  engines.set(slot, engine);
  return engine;
}

onmessage = async ({ data }) => {
  if (data.packed) {
    unpack(data.packed).then(unpacked.resolve, unpacked.reject);
    return;
  }
  try {
    await compiled;
    const engine = engines.get(data.slot) ?? await start(data.slot);
    const begun = performance.now();
    const answers = [];
    let seconds = 0;
    for (const request of data.requests) {
      try {
        answers.push(engine.request(request));
      } finally {
        if (engine.isBroken()) engines.delete(data.slot);
      }
      if (request.do === 'run') seconds = (performance.now() - begun) / 1000;
    }
    postMessage({ id: data.id, answers, seconds });
  } catch (error) {
    postMessage({ id: data.id, error: error.message });
  }
};
