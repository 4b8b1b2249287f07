// Holds engines, one for each slot, and answers what the page asks of them.
let unpacked;
// requests may come before the engine does
const compiled = new Promise((resolve, reject) => { unpacked = { resolve, reject }; });
const engines = new Map();

// here, not in the page's own thread: it takes some tenths of a second
const unpack = async (text) => WebAssembly.compile(unpackLzma(bytesOf(text)));

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
