// Evaluates the trees of formulas. A figure that is not there gives NaN, which no chart draws.
'use strict';
const formulas = (() => {
  const operators = {
    '+': (a, b) => a + b, '-': (a, b) => a - b, '*': (a, b) => a * b, '/': (a, b) => a / b, '^': (a, b) => a ** b,
    min: Math.min, max: Math.max, sqrt: Math.sqrt, exp: Math.exp, log: Math.log,
  };
  const at = (document, path) => path.reduce((found, key) => (found == null ? undefined : found[key]), document);
  const quantile = (all, share) => {
    if (!all?.length || !(share >= 0 && share <= 1)) return NaN;
    const place = share * (all.length - 1), below = Math.floor(place);
    return all[below] + (place - below) * ((all[below + 1] ?? all[below]) - all[below]);
  };
  const slower = (all, ms) => (all?.length ? all.filter((one) => one > ms).length / all.length : NaN);
  function value(tree, known) {
    if ('number' in tree) return tree.number;
    if ('path' in tree) {
      const [root, ...path] = tree.path;
      const found = root === 'x' ? known.x : at(known[root]?.document, path);
      return typeof found === 'number' ? found : NaN;
    }
    const [name, of] = tree.call;
    const values = of.map((one) => value(one, known));
    if (name === 'quantile') return quantile(known.run?.quantiles, values[0]);
    if (name === 'base_quantile') return quantile(known.base?.quantiles, values[0]);
    if (name === 'slower') return slower(known.run?.quantiles, values[0]);
    if (name === 'base_slower') return slower(known.base?.quantiles, values[0]);
    return operators[name](...values);
  }
  // what a formula needs besides the slider's value
  function needs(tree, found = new Set()) {
    if ('path' in tree) found.add(tree.path[0]);
    if ('call' in tree) {
      if (['quantile', 'slower'].includes(tree.call[0])) found.add('run');
      if (tree.call[0].startsWith('base_')) found.add('base');
      tree.call[1].forEach((one) => needs(one, found));
    }
    return found;
  }
  return { value, needs };
})();
