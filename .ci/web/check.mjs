// The engine under Node gives the documents of the command: runs and a question, of every kind of cluster, and of
// one whose quantities 32 bits do not hold.
//   node check.mjs FORETELL ENGINE.wasm SCRATCH
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { load } from './engine.mjs';

const [foretell, wasm, scratch] = process.argv.slice(2);
const wide = join(import.meta.dirname, 'wide.toml');
const short = ['warmup=200 ms', 'duration=1 s'];
const runs = [
  { scenario: 'first-look', set: ['warmup=2 s', 'duration=10 s'], ask: ['volume.mail.encoding=3-of-5'] },
  { scenario: wide, set: [], ask: ['node.brick.cache.size=12 GiB'] },
  { scenario: 'solid-state', set: ['warmup=100 ms', 'duration=900 ms'], ask: ['workload.nvme.outstanding=64', 'workload.sata.outstanding=8'], model: 'replay' },
  { scenario: 'array-server', set: short },
  { scenario: 'log-structured', set: short },
  { scenario: 'swift', set: short },
  { scenario: 'ceph', set: ['warmup=5 ms', 'duration=10 ms'] },
  { scenario: 'failure', set: ['warmup=1 s', 'duration=8 s', 'event.crash.at=2 s', 'event.crash.for=3 s'] },
];
const engine = await load(wasm);
const faults = [];
// how long it took is all that may differ, and there is no clock
const timeless = (text) => text.replace(/"wall_seconds": [^,\n]*/, '"wall_seconds": 0');
const command = (...all) => execFileSync(foretell, all, { encoding: 'utf8', maxBuffer: 1 << 28 });
let compared = 0;

function same(what, here, there) {
  compared += 1;
  const [ours, theirs] = [timeless(here).split('\n'), timeless(there).split('\n')];
  const at = ours.findIndex((line, index) => line !== theirs[index]);
  if (at >= 0 || ours.length !== theirs.length) {
    faults.push(`${what}: line ${at + 1}: ${ours[at]} here, ${theirs[at]} of the command`);
  }
}

for (const { scenario, set, ask, model = 'auto' } of runs) {
  const name = basename(scenario, '.toml');
  const changes = set.flatMap((change) => ['--set', change]);
  const directory = join(scratch, name);
  const keep = ask ? ['-o', directory, '--force'] : [];
  const there = command('run', scenario, ...changes, ...keep, '--json');
  const started = performance.now();
  const text = scenario.endsWith('.toml') ? readFileSync(scenario, 'utf8') : scenario;
  const here = engine.request({ do: 'run', scenario: text, set });
  const seconds = (performance.now() - started) / 1000;
  same(`run ${name}`, here, there);
  if (ask) {
    const asked = command('ask', directory, ...ask.flatMap((change) => ['--what-if', change]), '--model', model, '--json');
    same(`ask ${name}`, engine.request({ do: 'ask', what_if: ask, model }), asked);
  }
  const { events } = JSON.parse(here);
  console.log(`${name}: ${events} events in ${seconds.toFixed(1)} s`);
}
// errors are sentences, and leave the engine able to go on
const wrong = (request) => { try { engine.request(request); return ''; } catch (error) { return error.message; } };
const unknown = wrong({ do: 'run', scenario: 'first-lok' });
if (!unknown.includes('first-look')) faults.push(`an unknown scenario: ${unknown}`);
if (!wrong({ do: 'ask', what_if: [] }).includes('no run')) faults.push('a question without a run');
if (!wrong({ do: 'dance' }).includes('dance')) faults.push('an unknown request');

faults.forEach((fault) => console.error(fault));
console.log(`${compared - faults.length} passed, ${faults.length} failed`);
process.exit(faults.length ? 1 : 0);
