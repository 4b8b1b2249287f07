// The load curve: which loads are asked about, by which model, where it ends, and where the knee is. Nothing here needs
// a page, so `.ci/pages/curve.test.mjs` tests it without one.
"use strict";

// A doubled load that raises the throughput by less than this share finds the cluster saturated.
const STILL_GROWS = 0.05;
// Share of the throughput of a saturated cluster that it gives at the knee.
const AT_KNEE = 0.9;
// Number of times that the load is doubled beyond the slider's range if the cluster is not saturated there.
const MAX_DOUBLINGS = 6;
// Number of loads that are tried to find the knee below an overload.
const MAX_KNEES = 6;
// Models to draw a curve with, the quickest first.
const MODELS_OF_CURVE = ["fast", "replay"];

/**
 * The knee of a closed load: the load at which the cluster gives nine tenths of what it gives when it is saturated.
 * `null` if the throughput still grows at the end of the range: then the highest value says nothing about the cluster.
 * `points`: total load, requests/s, mean ms, p99 ms, by load.
 */
function kneeOf(points) {
  const last = points.at(-1);
  // the last point at which the load was half of the last one's, or less
  const half = points.findLast((point) => point.load <= last.load / 1.9);
  if (!half || last.rps / half.rps - 1 > STILL_GROWS * Math.log2(last.load / half.load)) return null;
  const most = Math.max(...points.map((point) => point.rps));
  const next = points.findIndex((point) => point.rps >= AT_KNEE * most);
  if (next === 0) return { ...points[0], most };
  const [a, b] = [points[next - 1], points[next]];
  const part = (AT_KNEE * most - a.rps) / (b.rps - a.rps);
  // by the logarithm of the load
  const between = (key) => a[key] + part * (b[key] - a[key]);
  return { load: a.load * (b.load / a.load) ** part, most, rps: AT_KNEE * most, mean: between("mean"), p99: between("p99") };
}

/** The overload in an answer: of the workload, or else of another one beside it. */
function overloadIn(answer, name) {
  const all = Object.entries(answer.workloads).filter(([, found]) => found.overload);
  const [workload, found] = all.find(([other]) => other === name) ?? all[0] ?? [];
  return found ? { workload, ...found.overload } : null;
}

/**
 * The curve of the workload `name`, whose `clients` each have one of the loads `values`, by one and the same model:
 * - `points` without overload, by load. An overloaded cluster has no steady state, so the curve ends at the first load
 *   with one, `overload`;
 * - `knee`, if the load saturates the cluster;
 * - `refused`: the last error of the model.
 *
 * `ask(value, model)` answers about a load. `go(curve)` is called after each answer; `false` ends the work.
 */
async function curveBy(model, { name, clients, values }, ask, go) {
  const curve = { model, points: [], overload: null, knee: null, refused: null };
  // the point at this load, if the model knows it
  const point = async (value) => {
    const load = value * clients;
    try {
      const answer = await ask(value, model);
      const overload = overloadIn(answer, name);
      const found = answer.workloads[name];
      if (overload) curve.overload = { load, ...overload };
      // the times of no requests are not known
      else if (!found.no_requests) {
        const one = { load, rps: found.throughput_rps, mean: found.response_time_ms.mean, p99: found.response_time_ms.p99 };
        curve.points.push(one);
        curve.points.sort((a, b) => a.load - b.load);
        return one;
      }
    } catch (error) {
      if (error.overload) curve.overload = { load, ...error.overload };
      else curve.refused = error;
    }
    return null;
  };
  // what the fast model refuses at one load, another model must answer at all of them
  const ends = () => curve.overload || (curve.refused && model !== MODELS_OF_CURVE.at(-1));
  for (const value of values) {
    await point(value);
    if (!go(curve)) return curve;
    if (ends()) break;
  }
  const knee = () => curve.points.length > 1 ? kneeOf(curve.points) : null;
  let value = values.at(-1);
  for (let more = 0; !ends() && !knee() && more < MAX_DOUBLINGS; more += 1) {
    value *= 2;
    const found = await point(value);
    if (!go(curve)) return curve;
    if (!found) break;
  }
  if (curve.overload?.workload === name) {
    // an open load is served as it is offered until the cluster is saturated: so the load at the knee is known. Where
    // queues and buffers only begin to fill, a model takes the cluster for better than it is: then less is an overload
    for (let more = 0; !curve.knee && more < MAX_KNEES; more += 1) {
      const { load, factor } = curve.overload;
      const found = await point(AT_KNEE * load / factor / clients);
      if (!go(curve)) return curve;
      if (found) curve.knee = { ...found, most: load / factor };
      else if (curve.overload.load === load) break;
    }
  } else curve.knee = knee();
  go(curve);
  return curve;
}

/** The curve by the first model that can follow all loads, or else by the last. */
async function curveOf(load, ask, go) {
  let goes = true;
  const watched = (curve) => { goes = go(curve); return goes; };
  let curve = null;
  for (const model of MODELS_OF_CURVE) {
    curve = await curveBy(model, load, ask, watched);
    if (!goes || !curve.refused) break;
  }
  return curve;
}
