// The laboratory: a lesson, its question, its slider, what is simulated and what a law says.
'use strict';
(() => {
  const lessons = JSON.parse(document.getElementById('lessons').textContent);
  const byId = (id) => document.getElementById(id);
  const make = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
      else if (typeof value === 'boolean') { if (value) made.setAttribute(key, ''); } else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  };
  const number = (value, digits = 3) => (!Number.isFinite(value) ? '–' : Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en') : String(+value.toPrecision(digits)));
  const paces = [0.0625, 0.25, 1, 4, 16];

  // ---- the engine, in a worker so that the page stays at hand
  const worker = new Worker(URL.createObjectURL(new Blob([byId('worker').textContent], { type: 'text/javascript' })));
  const jobs = [];
  let busy = null, lastId = 0;
  worker.onmessage = ({ data }) => {
    if (data.progress !== undefined) { busy?.progress?.(data.progress); return; }
    const job = busy;
    busy = null;
    if (data.error) job.reject(new Error(data.error)); else job.resolve(data);
    next();
  };
  // the script at the end of the page comes before the engine
  window.addEventListener('DOMContentLoaded', () => worker.postMessage({ packed: byId('engine').textContent.trim() }));
  function next() {
    if (busy || !jobs.length) return;
    jobs.sort((one, other) => one.priority - other.priority || one.id - other.id);
    busy = jobs.shift();
    worker.postMessage({ id: busy.id, slot: busy.slot, requests: busy.requests });
  }
  function ask(slot, requests, priority, progress) {
    return new Promise((resolve, reject) => {
      jobs.push({ id: lastId += 1, slot, requests, priority, progress, resolve, reject });
      // what is asked together is put in order together
      queueMicrotask(next);
    });
  }

  // ---- results, by lesson, side and slider
  const results = new Map();
  const keyOf = (lesson, side, x) => `${lesson.name} ${side} ${x}`;
  const sidesOf = (lesson) => (lesson.settings.side.length ? lesson.settings.side : [{ name: '', set: [] }]);
  const changesOf = (lesson, side, x) => [...sidesOf(lesson)[side].set, ...lesson.settings.slider.set.map((change) => change.replaceAll('{x}', String(x)))];

  async function result(lesson, side, x, withFilm, priority, progress) {
    const key = keyOf(lesson, side, x), known = results.get(key);
    if (known && (known.film || !withFilm)) return known;
    const { film, workload } = lesson.settings;
    const requests = [
      { do: 'run', scenario: lesson.scenario, set: changesOf(lesson, side, x), ...(withFilm ? { film: { from_ms: film.from_ms, for_ms: film.for_ms } } : {}) },
      { do: 'quantiles', workload, count: 1000 },
    ];
    if (withFilm) requests.push({ do: 'film' });
    const { answers, seconds } = await ask('run', requests, priority, progress);
    const found = { ...known, document: JSON.parse(answers[0]), text: answers[0], quantiles: JSON.parse(answers[1]), seconds };
    if (withFilm) {
      // films are large: the last few are kept
      const held = [...results.values()].filter((one) => one.film);
      if (held.length > 8) delete held[0].film;
      found.film = pictures.prepare(JSON.parse(answers[2]), film.pace_ms);
      pictures.markDown(found.film, found.document.happened ?? [], film.from_ms);
    }
    results.set(key, found);
    const { events } = found.document;
    byId('speed').textContent = `Last run: ${events.toLocaleString('en')} events in ${seconds.toFixed(2)} s, ${(events / seconds / 1e6).toFixed(2)} million a second.`;
    return found;
  }

  // for tests: what runs gave, and the most events in a second of any run
  window.laboratory = {
    text: (key) => results.get(key)?.text,
    speed: () => Math.max(0, ...[...results.values()].filter((one) => one.seconds).map((one) => one.document.events / one.seconds)),
  };

  // what the records of the slider's first run say of another value
  async function predicted(lesson, side, x, priority) {
    const key = `ask ${keyOf(lesson, side, x)}`;
    if (results.has(key)) return results.get(key);
    const base = lesson.settings.slider.values[0], slot = 'base', requests = [];
    const holds = `${lesson.name} ${side}`;
    // jobs go one after the other, so what the slot will hold then is known now
    requests.push({ do: 'ask', what_if: changesOf(lesson, side, x) });
    if (predicted.holds !== holds) requests.unshift({ do: 'run', scenario: lesson.scenario, set: changesOf(lesson, side, base) });
    predicted.holds = holds;
    try {
      const { answers } = await ask(slot, requests, priority);
      const found = { document: JSON.parse(answers.at(-1)) };
      results.set(key, found);
      return found;
    } catch (error) {
      predicted.holds = '';
      throw error;
    }
  }

  // ---- state: each has a link
  let state = { lesson: lessons[0].name, x: 0, answer: 0, t: 0, pace: 2, play: false };
  let lesson = lessons[0];
  function read() {
    const given = new URLSearchParams(location.hash.slice(1));
    lesson = lessons.find(({ name }) => name === given.get('lesson')) ?? lessons[0];
    const { slider, choices } = lesson.settings;
    const x = Number(given.get('x') ?? slider.start);
    const answer = Number(given.get('answer'));
    state = {
      lesson: lesson.name,
      x: slider.values.includes(x) ? x : slider.start,
      answer: Number.isInteger(answer) && answer >= 0 && answer <= choices.length ? answer : 0,
      t: given.has('t') ? Math.min(lesson.settings.film.for_ms, Math.max(0, Number(given.get('t')) || 0)) : opening(),
      pace: paces.includes(Number(given.get('pace'))) ? paces.indexOf(Number(given.get('pace'))) : 2,
      play: false,
    };
    opened = given.has('t') ? NaN : state.t;
  }
  // what was under way when the film began is not in it: a little later the picture is full
  const opening = () => lesson.settings.film.for_ms * 0.15;
  // the time at which the film stands unless the reader moves it
  let opened = NaN;
  // at a low load nothing may be under way then: the film stands where as much is under way as on average
  function open() {
    if (state.t !== opened) return;
    const first = opening() * 1000, step = (lesson.settings.film.for_ms * 1000 - first) / 200;
    const times = Array.from({ length: 200 }, (_, index) => first + index * step);
    const under = (at) => Math.min(...films.map((film) => film.dots.filter((dot) => dot.from <= at && at < dot.to).length));
    const usual = Math.max(1, times.reduce((sum, at) => sum + under(at), 0) / times.length);
    const found = times.find((at) => under(at) >= usual) ?? times.find((at) => under(at) > 0) ?? first;
    opened = state.t = found / 1000;
  }
  function link() {
    const parts = new URLSearchParams({ lesson: state.lesson, x: state.x });
    if (state.answer) parts.set('answer', state.answer);
    if (state.t !== opened) parts.set('t', state.t.toFixed(1));
    if (state.pace !== 2) parts.set('pace', paces[state.pace]);
    return `#${parts}`;
  }
  function remember() {
    try {
      history.replaceState(null, '', link());
    } catch {
      // browsers limit how often; the next change is kept
    }
  }

  // ---- parts of the page
  let parts = {};
  function build() {
    const { settings } = lesson;
    document.title = `${lesson.title} – foretell laboratory`;
    byId('lesson-title').textContent = lesson.title;
    byId('before').innerHTML = lesson.before;
    byId('after').innerHTML = lesson.after;
    for (const one of document.querySelectorAll('#lessons-list a')) {
      if (one.dataset.lesson === lesson.name) one.setAttribute('aria-current', 'page'); else one.removeAttribute('aria-current');
    }
    question(settings);
    bench(settings);
  }

  function question({ question: asked, choices }) {
    const form = byId('question');
    const options = choices.map((choice, index) => make('label', {},
      make('input', { type: 'radio', name: 'choice', value: String(index + 1), checked: state.answer === index + 1 }), ` ${choice}`));
    const verdict = make('p', { id: 'verdict', role: 'status' });
    form.replaceChildren(make('fieldset', {}, make('legend', {}, `Predict: ${asked}`), ...options,
      make('button', { type: 'submit' }, 'Check my prediction')), verdict);
    form.onsubmit = (event) => {
      event.preventDefault();
      const chosen = form.querySelector('input:checked');
      if (!chosen) { verdict.textContent = 'Choose an answer first: a guess is enough.'; return; }
      state.answer = Number(chosen.value);
      remember();
      judge();
      sweep();
    };
    parts = { verdict };
  }

  function judge() {
    const { answer, because, choices } = lesson.settings;
    byId('after').hidden = !state.answer;
    parts.curves.hidden = !state.answer;
    if (!state.answer) { parts.verdict.textContent = ''; return; }
    const right = state.answer === answer;
    parts.verdict.className = right ? 'right' : 'wrong';
    parts.verdict.textContent = `${right ? 'Right.' : `Not so: ${choices[answer - 1]}`}${/[.!?]$/.test(choices[answer - 1]) || right ? '' : '.'} ${because} The chart below has the measurement.`;
  }

  function bench({ slider, film }) {
    const index = slider.values.indexOf(state.x);
    const range = make('input', { type: 'range', id: 'slider', min: '0', max: String(slider.values.length - 1), step: '1', value: String(index),
      oninput: () => { state.x = slider.values[Number(range.value)]; opened = state.t = opening(); name(); remember(); }, onchange: () => { simulate(); } });
    const shown = make('output', { for: 'slider' });
    function name() {
      shown.textContent = ` ${number(state.x, 6)} ${slider.unit}`;
      range.setAttribute('aria-valuetext', `${number(state.x, 6)} ${slider.unit}`);
    }
    name();
    const sides = sidesOf(lesson);
    const canvases = sides.map((side, at) => make('canvas', { role: 'img', class: 'film', 'aria-label': `Requests on their way${side.name ? ` with ${side.name}` : ''}` , 'data-side': String(at) }));
    const words = sides.map(() => make('p', { class: 'counts' }));
    const play = make('button', { type: 'button', id: 'play', onclick: () => { state.play = !state.play; tick.last = 0; button(); if (state.play) requestAnimationFrame(tick); } });
    const button = () => { play.textContent = state.play ? 'Pause' : 'Play'; };
    button();
    const pace = make('select', { id: 'pace', onchange: () => { state.pace = Number(pace.value); remember(); } },
      ...paces.map((factor, at) => make('option', { value: String(at), selected: at === state.pace }, `${number(film.pace_ms * factor)} ms each second`)));
    const scrub = make('input', { type: 'range', id: 'time', min: '0', max: String(film.for_ms), step: 'any', value: String(state.t),
      oninput: () => { state.t = Number(scrub.value); paint(); }, onchange: remember });
    const clock = make('output', { for: 'time' });
    const status = make('p', { class: 'status', role: 'status' });
    const table = make('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Figures of this run' });
    const chart = make('div', { class: 'chart' });
    const rows = make('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Law and measurement' });
    const curves = make('section', { class: 'curves', 'aria-label': 'Law and measurement' }, make('h2', {}, 'The law beside the measurement'), chart, rows);
    const command = make('code', { id: 'command' });
    const here = make('a', { id: 'here', href: link() }, 'Link to this state');
    byId('bench').replaceChildren(
      make('p', { class: 'move' }, make('label', { for: 'slider' }, slider.label, shown), range),
      status,
      make('div', { class: `films n${sides.length}` }, ...sides.map((side, at) => make('figure', {}, ...(side.name ? [make('figcaption', {}, side.name)] : []), canvases[at], words[at]))),
      make('p', { class: 'controls' }, play, make('label', { for: 'pace' }, 'Speed ', pace), make('label', { for: 'time', class: 'grow' }, 'Time ', scrub), clock),
      make('p', { class: 'legend' }, make('span', { class: 'dot read' }), ' read ', make('span', { class: 'dot write' }), ' write ', make('span', { class: 'dot ring' }), ' client waits ', make('span', { class: 'dot good' }), ' found in the cache, or complete'),
      table, curves,
      make('h2', {}, 'The same on the command line'),
      make('p', { class: 'command' }, command, make('button', { type: 'button', onclick: () => copy(command.textContent) }, 'Copy')),
      make('p', {}, here, ' · ', make('button', { type: 'button', class: 'plain', onclick: () => copy(new URL(link(), location.href).href) }, 'Copy the link')),
      make('details', {}, make('summary', {}, 'The scenario'), make('pre', { tabindex: '0' }, lesson.scenario)),
    );
    Object.assign(parts, { range, canvases, words, play, button, scrub, clock, status, table, chart, rows, curves, command, here });
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      parts.status.textContent = 'Copied.';
    } catch {
      parts.status.textContent = `Copy it from here: ${text}`;
    }
  }

  const quoted = (text) => (/^[\w./:=%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const commandOf = (side) => ['foretell run', quoted(lesson.command), ...changesOf(lesson, side, state.x).map((change) => `--set ${quoted(change)}`)].join(' ');

  // ---- simulating
  let films = [], running = 0;
  async function simulate() {
    const mine = running += 1, of = lesson, { x } = state;
    parts.command.textContent = sidesOf(lesson).map((_, side) => commandOf(side)).join('\n');
    parts.here.href = link();
    parts.status.textContent = 'Simulating …';
    try {
      const found = await Promise.all(sidesOf(lesson).map((_, side) => result(of, side, x, true, 0,
        (part) => { if (mine === running) parts.status.textContent = `Simulating … ${Math.round(100 * part)} %`; })));
      if (mine !== running) return;
      films = found.map((one) => one.film);
      parts.status.textContent = '';
      open();
      figures(found);
      paint();
      document.documentElement.dataset.ran = keyOf(of, 0, x);
      if (state.answer) sweep();
    } catch (error) {
      if (mine !== running) return;
      films = [];
      parts.status.textContent = `This cannot be simulated: ${error.message}`;
      document.documentElement.dataset.ran = `failed: ${error.message}`;
    }
  }

  const busiest = ({ hosts }) => {
    let best = ['', 0];
    for (const [host, resources] of Object.entries(hosts)) {
      for (const [name, resource] of Object.entries(resources)) if (resource?.utilization > best[1]) best = [`${host} ${name}`, resource.utilization];
    }
    return best;
  };
  function figures(found) {
    const sides = sidesOf(lesson), { workload } = lesson.settings;
    const rows = [['', ...sides.map((side) => side.name || 'this run')]];
    const add = (name, of) => rows.push([name, ...found.map(({ document: one }) => of(one, one.workloads[workload]))]);
    add('requests a second', (_, seen) => number(seen.throughput_rps));
    add('mean response time, ms', (_, seen) => number(seen.response_time_ms.mean));
    add('99 of 100 are faster than, ms', (_, seen) => number(seen.response_time_ms.p99));
    if (found.some(({ document: one }) => one.workloads[workload].read_hit_rate !== undefined && one.workloads[workload].read_hit_rate !== null)) add('found in caches', (_, seen) => `${number(100 * (seen.read_hit_rate ?? NaN))} %`);
    add('busiest', (one) => { const [name, share] = busiest(one); return `${name}, ${Math.round(100 * share)} %`; });
    parts.table.replaceChildren(tableOf(`Workload ${workload} in this run`, rows));
  }
  const tableOf = (title, [head, ...rows]) => make('table', {}, make('caption', {}, title),
    make('thead', {}, make('tr', {}, ...head.map((cell) => (cell ? make('th', { scope: 'col' }, cell) : make('td', {}))))),
    make('tbody', {}, ...rows.map(([name, ...cells]) => make('tr', {}, make('th', { scope: 'row' }, name), ...cells.map((cell) => make('td', {}, cell))))));

  // ---- all values of the slider, for the chart
  let sweeping = '';
  async function sweep() {
    chart();
    const of = lesson;
    if (sweeping === of.name) return;
    sweeping = of.name;
    const { slider, law, measure } = of.settings;
    const wanted = new Set([...formulas.needs(law.tree), ...formulas.needs(measure.tree)]);
    try {
      for (const x of slider.values) {
        for (const [side] of sidesOf(of).entries()) {
          await result(of, side, x, false, 1);
          if (wanted.has('ask')) await predicted(of, side, x, 1).catch((error) => { parts.status.textContent = error.message; });
          if (of !== lesson) { sweeping = ''; return; }
        }
        chart();
      }
      document.documentElement.dataset.swept = of.name;
    } catch (error) {
      if (of === lesson) parts.status.textContent = `This cannot be simulated: ${error.message}`;
    }
  }

  function chart() {
    const { slider, measure, law } = lesson.settings;
    const first = slider.values[0];
    const known = (side, x) => ({ x, run: results.get(keyOf(lesson, side, x)), base: results.get(keyOf(lesson, side, first)), ask: results.get(`ask ${keyOf(lesson, side, x)}`) });
    const needs = formulas.needs(law.tree), byRun = needs.has('run') || needs.has('ask');
    const last = slider.values.at(-1);
    const fine = byRun ? slider.values : [...Array(121).keys()].map((step) => first + (last - first) * step / 120);
    const series = sidesOf(lesson).map((side, at) => ({
      name: side.name,
      law: fine.map((x) => [x, formulas.value(law.tree, known(at, x))]).filter(([, y]) => Number.isFinite(y)),
      points: slider.values.map((x) => [x, formulas.value(measure.tree, known(at, x))]).filter(([, y]) => Number.isFinite(y)),
    }));
    drawChart(parts.chart, { slider, measure, law, series, x: state.x });
    const named = (side, what) => `${side.name ? `${side.name}: ` : ''}${what}`;
    const head = [`${slider.label}${slider.unit ? `, ${slider.unit}` : ''}`, ...sidesOf(lesson).flatMap((side) => [named(side, 'measured'), named(side, 'law')])];
    const rows = slider.values.map((x) => [number(x, 6), ...sidesOf(lesson).flatMap((_, at) => [number(formulas.value(measure.tree, known(at, x))), number(formulas.value(law.tree, known(at, x)))])]);
    parts.rows.replaceChildren(tableOf(`${measure.label}${measure.unit ? `, ${measure.unit}` : ''}; the law is: ${law.label}`, [head, ...rows]));
  }

  // ---- the film
  function paint() {
    const at = state.t * 1000;
    parts.scrub.value = String(state.t);
    parts.scrub.setAttribute('aria-valuetext', `${state.t.toFixed(1)} ms`);
    parts.clock.textContent = `${state.t.toFixed(1)} ms`;
    films.forEach((film, side) => {
      if (!film || !parts.canvases[side]) return;
      const counts = pictures.draw(parts.canvases[side], film, at);
      const down = counts.down.length ? `; down: ${counts.down.join(', ')}` : '';
      const now = `${counts.network} on the network, ${counts.cache} in nodes, ${counts.waiting} waiting for disks, ${counts.disks} at disks${down}`;
      parts.words[side].textContent = now;
      parts.canvases[side].setAttribute('aria-label', `Requests on their way at ${state.t.toFixed(1)} ms: ${now}`);
    });
  }
  function tick(now) {
    if (!state.play) return;
    const { film } = lesson.settings;
    if (tick.last) {
      state.t += (now - tick.last) / 1000 * film.pace_ms * paces[state.pace];
      if (state.t > film.for_ms) state.t = 0;
      paint();
    }
    tick.last = now;
    requestAnimationFrame(tick);
  }

  function show() {
    read();
    build();
    judge();
    simulate();
  }
  window.addEventListener('hashchange', () => { if (location.hash !== link()) { show(); byId('lesson-title').focus({ preventScroll: false }); } });
  window.addEventListener('resize', () => { paint(); if (state.answer) chart(); });
  show();
})();
