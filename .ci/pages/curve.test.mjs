// Tests the load curve of the served page without a page: one model, the end at an overload, the knee.
//   node --test curve.test.mjs
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { runInThisContext } from 'node:vm';

const script = process.env.CURVE ?? new URL('../../pages/serve/page/curve.js', import.meta.url);
const curveOf = runInThisContext(`${readFileSync(script, 'utf8')}; curveOf`);
const figures = (rps, mean = 1) => ({ throughput_rps: rps, response_time_ms: { mean, p99: 3 * mean } });
const close = (found, wanted) => assert.ok(Math.abs(found / wanted - 1) < 1e-6, `${found} instead of ${wanted}`);

/** Draws a curve with the answers of `model(load, name of the model)`; returns it with the questions asked. */
async function draw({ clients = 1, values }, model) {
  const asked = [];
  const ask = async (value, by) => {
    asked.push([by, value]);
    const found = model(value * clients, by);
    if (found instanceof Error) throw found;
    return { workloads: found };
  };
  return { asked, curve: await curveOf({ name: 'w', clients, values }, ask, () => true) };
}

/** An open load on a cluster that completes at most `most` requests a second. */
const open = (most, more = {}) => (rate) => ({
  w: rate > 1.05 * most
    ? { ...figures(most, 900), overload: { resource: 'brick.disk0', factor: rate / most } }
    : figures(rate, 10 / (1 - Math.min(rate / most, 0.99))),
  ...more,
});
/** A closed load that saturates the cluster at 16 outstanding requests. */
const closed = (load) => ({ w: figures(100 * Math.min(load, 16), Math.max(load, 16) / 16) });

test('an open curve ends at the first overload, and its knee is one more point', async () => {
  const { curve, asked } = await draw({ clients: 2, values: [10, 20, 40, 80, 160, 320] }, open(200));
  assert.deepEqual(curve.points.map(({ load }) => load), [20, 40, 80, 160, 180]);
  assert.deepEqual(asked.map(([, value]) => value), [10, 20, 40, 80, 160, 90], 'nothing is asked beyond the overload');
  assert.equal(curve.overload.load, 320);
  assert.equal(curve.overload.resource, 'brick.disk0');
  close(curve.knee.load, 180);
  close(curve.knee.most, 200);
  close(curve.knee.mean, 100);
});

test('a knee that is an overload itself is looked for below', async () => {
  // queues only begin to fill: the answers take the cluster for better than it is
  const optimistic = (rate) => ({ w: rate > 210 ? { ...figures(200), overload: { resource: 'brick.disk0', factor: 1.06 } } : figures(rate) });
  const { curve, asked } = await draw({ values: [100, 200, 400] }, optimistic);
  assert.deepEqual(asked.slice(0, 3).map(([, value]) => value), [100, 200, 400]);
  const loads = asked.slice(3).map(([, value]) => value);
  assert.ok(loads.length > 1 && loads.every((load, at) => load < (loads[at - 1] ?? 400)), `${loads}`);
  close(curve.knee.load, loads.at(-1));
  assert.ok(curve.knee.load <= 210 && curve.overload.load > curve.points.at(-1).load);
});

test('an overload that stands in a refusal ends the curve, too', async () => {
  const refusal = (load) => Object.assign(new Error('faster than they complete'), { overload: { workload: 'w', resource: 'x.cpu', factor: load / 50 } });
  const { curve, asked } = await draw({ values: [10, 100, 200] }, (load) => load > 50 ? refusal(load) : { w: figures(load) });
  assert.deepEqual(asked.map(([by, value]) => `${by} ${value}`), ['fast 10', 'fast 100', 'fast 45']);
  assert.equal(curve.knee.load, 45);
  assert.equal(curve.refused, null);
});

test('the overload of another workload ends the curve without a knee', async () => {
  const other = { other: { ...figures(1), overload: { resource: 'brick.cpu', factor: 2 } } };
  const { curve } = await draw({ values: [1, 2, 4, 8] }, (load) => load > 3 ? { ...closed(load), ...other } : closed(load));
  assert.deepEqual(curve.points.map(({ load }) => load), [1, 2]);
  assert.equal(curve.overload.workload, 'other');
  assert.equal(curve.knee, null);
});

test('a load that is an overload from the beginning has no points', async () => {
  const { curve } = await draw({ values: [10, 20] }, (load) => ({ w: { ...figures(5), overload: { resource: 'x', factor: 2 } } }));
  assert.equal(curve.points.length, 0);
  assert.equal(curve.knee, null);
});

test('one model answers all points: what the fast one refuses once, the replay answers from the beginning', async () => {
  const refuses = (load, by) => by === 'fast' && load > 2 ? new Error('too few bursts') : closed(load);
  const { curve, asked } = await draw({ values: [1, 2, 4, 8, 16, 32, 64] }, refuses);
  assert.equal(curve.model, 'replay');
  assert.deepEqual(curve.points.map(({ load }) => load), [1, 2, 4, 8, 16, 32, 64]);
  const models = asked.map(([by]) => by);
  assert.deepEqual(models, [...models].sort(), 'first all of the fast model, then all of the replay');
  // and if it refuses none, it answers all
  const fast = await draw({ values: [1, 2, 4, 8, 16, 32, 64] }, closed);
  assert.ok(fast.asked.every(([by]) => by === 'fast'));
});

test('a closed load is doubled until it saturates the cluster', async () => {
  const { curve, asked } = await draw({ values: [1, 2, 4] }, closed);
  assert.deepEqual(asked.map(([, value]) => value), [1, 2, 4, 8, 16, 32]);
  close(curve.knee.rps, 1440);
  assert.ok(curve.knee.load > 8 && curve.knee.load < 16);
  // one that never does has no knee, and ends after six doublings
  const endless = await draw({ values: [1, 2, 4] }, (load) => ({ w: figures(load) }));
  assert.equal(endless.curve.knee, null);
  assert.equal(endless.asked.length, 9);
});

test('what the replay cannot answer is left out, and said', async () => {
  const { curve } = await draw({ values: [1, 2, 4, 8, 16, 32] }, (load) => load === 1 ? new Error('too few requests') : closed(load));
  assert.deepEqual([curve.model, curve.points[0].load, curve.refused.message], ['replay', 2, 'too few requests']);
});

test('nothing more is asked for a run that is not looked at any more', async () => {
  let asked = 0;
  await curveOf({ name: 'w', clients: 1, values: [1, 2, 4] }, async (load) => { asked += 1; return { workloads: closed(load) }; }, () => false);
  assert.equal(asked, 1);
});
