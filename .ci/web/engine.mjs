// The engine under Node: foretell.wasm, spoken to as pages do.
import { readFileSync } from 'node:fs';
import { runInThisContext } from 'node:vm';

const script = new URL('../../pages/laboratory/assets/engine.js', import.meta.url);
const connect = runInThisContext(`${readFileSync(script, 'utf8')}; connect`);

export const load = async (file, progress = () => {}) => connect(await WebAssembly.compile(readFileSync(file)), progress);
