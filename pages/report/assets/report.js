// Draws the charts of a page from the data that it holds. Nothing is fetched and nothing is stored.
(() => {
  'use strict';
  const DASHES = [[], [9, 4], [2, 3], [12, 4, 2, 4], [5, 3], [16, 4]];
  const root = document.documentElement;
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  // Numbers as people read them: four digits.
  const show = (value) => {
    if (value === null || value === undefined || Number.isNaN(value)) return 'unknown';
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e7 || size < 1e-3)) return value.toExponential(2);
    return String(Number(value.toPrecision(size >= 1000 ? 6 : 4)));
  };
  const withUnit = (value, unit) => (unit === '%' ? `${show(value)} %` : unit ? `${show(value)} ${unit}` : show(value));
  const percentile = (nines) => `${Number((100 * (1 - 10 ** -nines)).toFixed(nines < 1.9 ? 1 : 4))} %`;
  const NINES = [[0, '0 %'], [0.30103, '50 %'], [1, '90 %'], [2, '99 %'], [3, '99.9 %'], [4, '99.99 %'], [5, '99.999 %']];

  /** What every chart has: a place, a tip, keys. */
  function frame(figure, name) {
    const plot = figure.querySelector('.plot');
    const controls = figure.querySelector('.controls');
    const tip = make('output', { className: 'tip' });
    tip.setAttribute('aria-live', 'polite');
    plot.tabIndex = 0;
    plot.setAttribute('role', 'application');
    plot.setAttribute('aria-roledescription', 'chart');
    plot.setAttribute('aria-label', `${name}. Arrow keys read values, plus and minus zoom, 0 shows all.`);
    const say = (text, left, top) => {
      tip.textContent = text;
      if (!text) return;
      const width = plot.clientWidth;
      const x = left > width / 2 ? left - tip.offsetWidth - 12 : left + 12;
      tip.style.left = `${Math.max(0, Math.min(x, width - tip.offsetWidth))}px`;
      tip.style.top = `${Math.max(0, top)}px`;
    };
    plot.addEventListener('mouseleave', () => say(''));
    plot.addEventListener('blur', () => say(''));
    return { figure, plot, controls, tip, say };
  }

  function key(name, index, onToggle, points = false) {
    const dash = DASHES[index % DASHES.length].join(' ');
    const button = make('button', { type: 'button', className: 'key' });
    button.setAttribute('aria-pressed', 'true');
    const space = 'http://www.w3.org/2000/svg';
    const svg = document.createElementNS(space, 'svg');
    svg.setAttribute('width', '28'); svg.setAttribute('height', '8'); svg.setAttribute('aria-hidden', 'true');
    const line = document.createElementNS(space, 'line');
    for (const [attribute, value] of Object.entries({ x1: 0, x2: 28, y1: 4, y2: 4, 'stroke-width': 2.5, 'stroke-dasharray': dash })) line.setAttribute(attribute, value);
    line.style.stroke = `var(--s${index % 6})`;
    if (points) {
      const point = document.createElementNS(space, 'circle');
      for (const [attribute, value] of Object.entries({ cx: 14, cy: 4, r: 3, 'stroke-width': 1.5 })) point.setAttribute(attribute, value);
      point.style.stroke = `var(--s${index % 6})`;
      point.style.fill = index % 2 ? 'var(--ground)' : `var(--s${index % 6})`;
      svg.append(point);
    } else svg.append(line);
    button.append(svg, make('span', { textContent: name }));
    button.addEventListener('click', () => {
      const on = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', String(on));
      onToggle(on);
    });
    return button;
  }

  function choice(label, options, onChange, value = 0) {
    const select = make('select', {}, ...options.map((text, index) => make('option', { value: index, textContent: text })));
    select.value = String(value);
    select.addEventListener('change', () => onChange(Number(select.value)));
    return make('label', {}, label, select);
  }

  function axis(spec, more = {}) {
    const whole = spec.unit ? `${spec.label} (${spec.unit})` : spec.label;
    const room = Math.floor((more.room ?? 1e4) / 6.6);
    const name = whole.length <= room ? whole : spec.label.length <= room ? spec.label : `${spec.label.slice(0, room - 1)}…`;
    const base = { label: name, labelSize: 22, labelGap: 2, stroke: css('--text'), font: '12px system-ui, sans-serif', labelFont: '12px system-ui, sans-serif',
      grid: { stroke: css('--line'), width: 0.6 }, ticks: { stroke: css('--line'), width: 0.6 } };
    if (spec.scale === 'nines') {
      base.splits = (u) => NINES.map(([at]) => at).filter((at) => at >= u.scales.x.min - 1e-9 && at <= u.scales.x.max + 1e-9);
      base.values = (u, splits) => splits.map((at) => NINES.find(([known]) => known === at)[1]);
      base.space = 30;
    } else if (spec.levels) {
      base.splits = () => spec.levels.map((_, index) => index);
      base.values = (u, splits) => splits.map((at) => spec.levels[at] ?? '');
    } else {
      base.values = (u, splits) => splits.map((at) => (at === null ? '' : show(at)));
    }
    return { ...base, ...more };
  }

  // Zooms and moves with keys; `read` is told in which direction to go on.
  function keys(place, scale, read) {
    place.plot.addEventListener('keydown', (event) => {
      const u = scale();
      if (!u || event.target !== place.plot || event.ctrlKey || event.metaKey || event.altKey) return;
      const zoom = (factor) => {
        // on a logarithmic axis by ratios; never beyond the data
        const log = u.scales.x.distr === 3, all = u.data[0];
        const [low, high, first, last] = [u.scales.x.min, u.scales.x.max, all[0], all[all.length - 1]].map((x) => (log ? Math.log(x) : x));
        const middle = (low + high) / 2, half = (high - low) * factor / 2;
        const [min, max] = [Math.max(middle - half, Math.min(first, low)), Math.min(middle + half, Math.max(last, high))].map((x) => (log ? Math.exp(x) : x));
        if (min < max) u.setScale('x', { min, max });
      };
      switch (event.key) {
        case 'ArrowRight': read(1); break;
        case 'ArrowLeft': read(-1); break;
        case 'Home': read(-Infinity); break;
        case 'End': read(Infinity); break;
        case '+': case '=': zoom(0.5); break;
        case '-': zoom(2); break;
        case '0': u.setData(u.data, true); break;
        default: return;
      }
      event.preventDefault();
    });
  }

  // Behind the lines of a time line: phases as tinted bands with a named strip above, events as dashed lines with labels.
  // A phase has a pattern of its own, so that it can be told without colour.
  const STRIP = 16, LABEL = 16;
  const PATTERNS = { degraded: 'slant', recovering: 'upright' };
  const phaseColour = (name) => css(`--p-${['before', 'degraded', 'recovering', 'after'].includes(name) ? name : 'before'}`);
  const labelRows = (spec) => Math.min(3, spec.marks?.length ?? 0);
  const phasesBetween = (spec, low, high) => [...new Set(spec.bands.filter((band) => band.from < high && low < band.to).map((band) => band.name))].join(', ');
  // from halfway to the point before until halfway to the next one
  const around = ({ xs }, at) => {
    const half = (other, away) => (other in xs ? Math.abs(xs[other] - xs[at]) : away in xs ? Math.abs(xs[away] - xs[at]) : 1) / 2;
    return [xs[at] - half(at - 1, at + 1), xs[at] + half(at + 1, at - 1)];
  };
  function paintBands(u, spec) {
    const pen = u.ctx, ratio = devicePixelRatio, { left, top, width, height } = u.bbox;
    const put = (x) => Math.max(left, Math.min(left + width, u.valToPos(x, 'x', true)));
    pen.save();
    pen.textBaseline = 'middle';
    pen.textAlign = 'left';
    pen.font = `${11 * ratio}px system-ui, sans-serif`;
    for (const band of spec.bands) {
      const from = put(band.from), wide = put(band.to) - from;
      if (wide <= 0) continue;
      const strip = top - STRIP * ratio;
      pen.fillStyle = phaseColour(band.name);
      pen.globalAlpha = PATTERNS[band.name] ? 0.22 : 0.06;
      pen.fillRect(from, top, wide, height);
      pen.globalAlpha = PATTERNS[band.name] ? 1 : 0.3;
      pen.fillRect(from, strip, Math.max(wide, ratio), (STRIP - 2) * ratio);
      pen.globalAlpha = 1;
      pen.save();
      pen.beginPath();
      pen.rect(from, strip, wide, (STRIP - 2) * ratio);
      pen.clip();
      pen.strokeStyle = css('--ground');
      pen.lineWidth = 1.5 * ratio;
      const step = 6 * ratio, slant = PATTERNS[band.name] === 'slant' ? STRIP * ratio : 0;
      for (let x = from - slant; PATTERNS[band.name] && x < from + wide; x += step) {
        pen.beginPath();
        pen.moveTo(x, strip + STRIP * ratio);
        pen.lineTo(x + slant, strip);
        pen.stroke();
      }
      pen.restore();
      const room = pen.measureText(band.name).width;
      if (room + 8 * ratio < wide) {
        const middle = from + (wide - room) / 2;
        pen.fillStyle = css('--ground');
        pen.fillRect(middle - 3 * ratio, strip, room + 6 * ratio, (STRIP - 2) * ratio);
        pen.fillStyle = css('--text');
        pen.fillText(band.name, middle, strip + (STRIP / 2 - 1) * ratio);
      }
    }
    pen.restore();
  }
  function paintMarks(u, spec) {
    const pen = u.ctx, ratio = devicePixelRatio, { left, top, width, height } = u.bbox;
    const rows = labelRows(spec), ends = Array(rows).fill(left - 20 * ratio);
    const first = top - (STRIP + LABEL * rows) * ratio;
    pen.save();
    pen.textBaseline = 'middle';
    pen.textAlign = 'left';
    pen.font = `600 ${11 * ratio}px system-ui, sans-serif`;
    for (const mark of spec.marks) {
      const x = u.valToPos(mark.at, 'x', true);
      if (x < left - 1 || x > left + width + 1) continue;
      pen.strokeStyle = css('--text');
      pen.lineWidth = 1.5 * ratio;
      // the whole label right or left of its line, else its number
      let placed = null;
      for (const text of [`${mark.number} ${mark.label}`, String(mark.number)]) {
        const room = pen.measureText(text).width;
        for (let row = 0; row < rows && !placed; row += 1) {
          for (const from of [x + 3 * ratio, x - room - 3 * ratio]) {
            if (!placed && from > ends[row] + 6 * ratio && from >= 0 && from + room < u.ctx.canvas.width) {
              placed = { text, from, row };
              ends[row] = Math.max(x, from + room);
            }
          }
        }
        if (placed) break;
      }
      pen.setLineDash([4 * ratio, 3 * ratio]);
      pen.beginPath();
      pen.moveTo(x, placed ? first + LABEL * placed.row * ratio : top - STRIP * ratio);
      pen.lineTo(x, top + height);
      pen.stroke();
      pen.setLineDash([]);
      if (placed) {
        const y = first + (LABEL * placed.row + LABEL / 2) * ratio;
        pen.fillStyle = css('--text');
        pen.fillText(placed.text, placed.from, y);
      }
    }
    pen.restore();
  }

  /** Lines over a common axis. */
  function lines(figure, spec, name) {
    const place = frame(figure, name);
    const hidden = new Set();
    let view = 0, u, at = -1, drawn = 0;
    const above = spec.bands ? STRIP + LABEL * labelRows(spec) + 4 : 0, below = above + 8;
    const keysBox = make('div', { className: 'controls keys' });
    const of = () => spec.views[view];
    const yAxis = () => of().y ?? spec.y;
    const read = (index) => {
      at = Math.max(0, Math.min(spec.xs.length - 1, index));
      const x = spec.x.scale === 'nines' ? percentile(spec.xs[at]) : withUnit(spec.xs[at], spec.x.unit);
      const values = of().series.filter((one) => !hidden.has(one.name)).map((one) => `${one.name}: ${withUnit(one.values[at], yAxis().unit)}`);
      if (!spec.bands) return `${spec.x.label} ${x}\n${values.join('\n')}`;
      const [low, high] = around(spec, at);
      const events = spec.marks.filter((mark) => low <= mark.at && mark.at < high).map((mark) => `event ${mark.number}: ${mark.label} at ${withUnit(mark.at, spec.x.unit)}`);
      const phases = phasesBetween(spec, low, high);
      return [`${spec.x.label} ${x}`, ...(phases ? [`phase: ${phases}`] : []), ...events, ...values].join('\n');
    };
    function draw() {
      if (u) u.destroy();
      const width = drawn = place.plot.clientWidth, height = Math.max(220, Math.min(320, width * 0.62));
      const log = yAxis().scale === 'log';
      const data = [spec.xs, ...of().series.map((one) => (log ? one.values.map((value) => (value > 0 ? value : null)) : one.values))];
      const ceiling = yAxis().max;
      // points are in the middle of their seconds; what happens at the first moment is to be seen, too
      const [first, end] = [spec.xs[0], spec.xs[spec.xs.length - 1]];
      const whole = (_, low, high) => [low <= first ? 0 : low, high >= end ? around(spec, spec.xs.length - 1)[1] : high];
      u = new uPlot({
        width, height: height + above, legend: { show: false },
        ...(above ? { padding: [above, null, null, null] } : {}),
        cursor: { y: false, drag: { x: true, y: false }, points: { size: 7 } },
        scales: { x: { time: false, distr: spec.x.scale === 'log' ? 3 : 1, ...(spec.bands ? { range: whole } : {}) },
          y: log ? { distr: 3 } : { range: (_, low, high) => [Math.min(0, low ?? 0), ceiling ?? ((high ?? 0) > 0 ? high * 1.06 : 1)] } },
        axes: [axis(spec.x, { room: width - 70 }), axis(yAxis(), { size: 58, room: height - 60 })],
        series: [{}, ...of().series.map((one, index) => ({ label: one.name, stroke: css(`--s${index % 6}`), width: 2, dash: DASHES[index % 6],
          show: !hidden.has(one.name), spanGaps: false, points: { show: spec.xs.length < 25, size: 6 } }))],
        hooks: { drawClear: spec.bands ? [(plot) => paintBands(plot, spec)] : [], draw: spec.bands ? [(plot) => paintMarks(plot, spec)] : [], setCursor: [(plot) => {
          if (plot.cursor.idx === null || plot.cursor.idx === undefined || plot.cursor.left < 0) return;
          place.say(read(plot.cursor.idx), plot.cursor.left + plot.bbox.left / devicePixelRatio, below);
        }] },
      }, data, place.plot);
      place.plot.append(place.tip);
    }
    function legend() {
      hidden.clear();
      keysBox.replaceChildren(...of().series.map((one, index) => key(one.name, index, (on) => {
        if (on) hidden.delete(one.name); else hidden.add(one.name);
        u.setSeries(index + 1, { show: on });
      })));
    }
    if (spec.views.length > 1) place.controls.append(choice('Show', spec.views.map((one) => one.name), (index) => { view = index; legend(); draw(); }));
    const reset = make('button', { type: 'button', textContent: 'Show all' });
    reset.addEventListener('click', () => u.setData(u.data, true));
    place.controls.append(reset);
    place.controls.after(keysBox);
    const phases = [...new Set((spec.bands ?? []).map((band) => band.name))];
    if (phases.length) {
      place.plot.after(make('div', { className: 'legend' }, 'Phases: ', ...phases.map((phase) => make('span', {}, make('span', { className: `swatch p-${phase}` }), phase)),
        ...(spec.marks.length ? [make('span', { textContent: 'Dashed lines: events, by their numbers in the table' })] : [])));
    }
    legend();
    draw();
    keys(place, () => u, (step) => {
      const text = read(Number.isFinite(step) ? (at < 0 && step < 0 ? spec.xs.length - 1 : at + step) : step < 0 ? 0 : spec.xs.length - 1);
      place.say(text, u.valToPos(spec.xs[at], 'x') + u.bbox.left / devicePixelRatio, below);
    });
    figure.querySelector('details.data')?.addEventListener('toggle', (event) => {
      const details = event.target;
      if (!details.open || details.querySelector('table')) return;
      const step = Math.ceil(spec.xs.length / 60);
      const head = make('tr', {}, make('th', { scope: 'col', textContent: spec.x.unit ? `${spec.x.label} (${spec.x.unit})` : spec.x.label }));
      if (spec.bands) head.append(make('th', { scope: 'col', textContent: 'phase' }));
      const body = make('tbody');
      const all = spec.views.flatMap((one) => one.series.map((series) => [one, series]));
      for (const [one, series] of all) head.append(make('th', { scope: 'col', textContent: spec.views.length > 1 ? `${one.name}: ${series.name}` : series.name }));
      for (let index = 0; index < spec.xs.length; index += step) {
        const x = spec.x.scale === 'nines' ? percentile(spec.xs[index]) : show(spec.xs[index]);
        body.append(make('tr', {}, make('th', { scope: 'row', textContent: x }), ...(spec.bands ? [make('td', { textContent: phasesBetween(spec, ...around(spec, index)) })] : []), ...all.map(([, series]) => make('td', { textContent: series.values[index] === null ? '' : show(series.values[index]) }))));
      }
      const box = make('div', { className: 'scroll', tabIndex: 0 }, make('table', {}, make('thead', {}, head), body));
      box.setAttribute('role', 'region'); box.setAttribute('aria-label', `${name}: values`);
      details.append(box);
    });
    return { draw, resize: () => { if (place.plot.clientWidth !== drawn) draw(); } };
  }

  // cividis (Nuñez, Anderton and Renslow 2018), which reads alike with and without colour vision
  const CIVIDIS = [[0, 32, 77], [0, 48, 111], [57, 72, 107], [87, 93, 109], [112, 113, 115], [138, 134, 120], [165, 157, 116], [196, 179, 104], [229, 204, 81], [255, 234, 70]];
  function cividis(share) {
    const at = Math.max(0, Math.min(1, share)) * (CIVIDIS.length - 1);
    const low = Math.floor(at), high = Math.min(low + 1, CIVIDIS.length - 1);
    return `rgb(${CIVIDIS[low].map((value, channel) => Math.round(value + (CIVIDIS[high][channel] - value) * (at - low))).join(',')})`;
  }

  /** A colour for each row and moment. */
  function heat(figure, spec, name) {
    const place = frame(figure, name);
    const canvas = make('canvas', { className: 'own' });
    place.plot.append(canvas, place.tip);
    let box = null, cell = [0, 0], drawn = 0, from = 0, to = spec.xs.length;
    const rowHeight = 18, foot = 40;
    const top = Math.max(spec.max, 1e-9);
    function draw() {
      const width = drawn = place.plot.clientWidth, height = rowHeight * spec.rows.length + foot;
      const ratio = window.devicePixelRatio || 1;
      canvas.width = width * ratio; canvas.height = height * ratio;
      canvas.style.height = `${height}px`;
      const pen = canvas.getContext('2d');
      pen.scale(ratio, ratio);
      pen.fillStyle = css('--ground'); pen.fillRect(0, 0, width, height);
      pen.font = '12px system-ui, sans-serif';
      const longest = Math.max(...spec.rows.map((row) => pen.measureText(row).width));
      const left = Math.min(longest + 8, width * 0.36);
      box = { left, width: width - left - 4 };
      pen.textBaseline = 'middle';
      spec.rows.forEach((row, index) => {
        let text = row;
        while (text.length > 1 && pen.measureText(text).width > left - 6) text = `${text.slice(0, -2)}…`;
        pen.fillStyle = css('--text');
        pen.fillText(text, 0, rowHeight * (index + 0.5));
        for (let bin = from; bin < to; bin += 1) {
          const value = spec.values[index][bin];
          const x0 = Math.floor(left + box.width * (bin - from) / (to - from)), x1 = Math.floor(left + box.width * (bin + 1 - from) / (to - from));
          pen.fillStyle = value === null ? css('--panel') : cividis(value / top);
          pen.fillRect(x0, rowHeight * index, x1 - x0, rowHeight - 1);
        }
      });
      pen.fillStyle = css('--text');
      pen.textBaseline = 'alphabetic';
      const half = (spec.xs[1] - spec.xs[0]) / 2 || 0;
      const last = spec.xs[to - 1] + half;
      const first = spec.xs[from] - half < last * 1e-4 ? 0 : spec.xs[from] - half;
      for (const share of [0, 0.5, 1]) {
        pen.textAlign = share === 0 ? 'left' : share === 1 ? 'right' : 'center';
        pen.fillText(`${show(first + (last - first) * share)} s`, left + box.width * share, height - foot + 16);
      }
      pen.textAlign = 'center';
      pen.fillText(spec.x, Math.max(0, Math.min(left + box.width / 2, width - pen.measureText(spec.x).width / 2)), height - 6);
      pen.textAlign = 'left';
    }
    const read = (mark) => {
      cell = [Math.max(0, Math.min(spec.rows.length - 1, cell[0])), Math.max(from, Math.min(to - 1, cell[1]))];
      const value = spec.values[cell[0]][cell[1]];
      const left = box.left + box.width * (cell[1] + 0.5 - from) / (to - from);
      if (mark) draw();
      const pen = canvas.getContext('2d');
      if (mark) {
        pen.strokeStyle = css('--alarm'); pen.lineWidth = 2;
        pen.strokeRect(left - 4, rowHeight * cell[0], 8, rowHeight - 1);
      }
      place.say(`${spec.rows[cell[0]]}, ${show(spec.xs[cell[1]])} s: ${value === null ? 'nothing' : withUnit(value, spec.unit)}`, left, rowHeight * (cell[0] + 1));
    };
    canvas.addEventListener('mousemove', (event) => {
      const bounds = canvas.getBoundingClientRect();
      const x = event.clientX - bounds.left - box.left;
      const row = Math.floor((event.clientY - bounds.top) / rowHeight);
      if (x < 0 || row >= spec.rows.length) { place.say(''); return; }
      cell = [row, from + Math.floor(x / box.width * (to - from))];
      read(false);
    });
    const zoom = (factor) => {
      const middle = cell[1], length = Math.max(4, Math.min(spec.xs.length, Math.round((to - from) * factor)));
      from = Math.max(0, Math.min(spec.xs.length - length, middle - Math.floor(length / 2)));
      to = from + length;
      draw();
    };
    place.plot.addEventListener('keydown', (event) => {
      const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      if (moves[event.key]) { cell = [cell[0] + moves[event.key][0], cell[1] + moves[event.key][1]]; read(true); }
      else if (event.key === '+' || event.key === '=') zoom(0.5);
      else if (event.key === '-') zoom(2);
      else if (event.key === '0') { from = 0; to = spec.xs.length; draw(); }
      else return;
      event.preventDefault();
    });
    canvas.addEventListener('dblclick', () => { if (to - from < spec.xs.length) { from = 0; to = spec.xs.length; draw(); } else zoom(0.25); });
    place.plot.addEventListener('blur', draw);
    for (const [text, factor] of [['Zoom in', 0.5], ['Zoom out', 2]]) {
      const button = make('button', { type: 'button', textContent: text });
      button.addEventListener('click', () => zoom(factor));
      place.controls.append(button);
    }
    const bar = make('span', { className: 'swatch' });
    Object.assign(bar.style, { width: '120px', background: `linear-gradient(90deg, ${CIVIDIS.map((rgb) => `rgb(${rgb})`).join(',')})` });
    const scale = make('span', { className: 'faint' }, `0 ${spec.unit} `, bar, ` ${withUnit(top, spec.unit)}`);
    place.controls.append(scale);
    place.controls.classList.add('keys');
    draw();
    return { draw, resize: () => { if (place.plot.clientWidth !== drawn) draw(); } };
  }

  /** Any column of a table against any other: points, filters, the Pareto front. */
  function explore(figure, spec, name) {
    const place = frame(figure, name);
    const columns = spec.columns, count = columns[0].values.length;
    const factors = columns.filter((column) => column.role === 'factor'), results = columns.filter((column) => column.role !== 'factor');
    const named = (wanted) => columns.findIndex((column) => wanted.test(column.name));
    const better = (column) => (/throughput|iops|_rps|per_s|hit_rate|usable|survives/.test(column.name) ? 1 : -1);
    const start = (list, fallback) => { const index = columns.indexOf(list[0]); return index < 0 ? fallback : index; };
    let x = start(factors, 0), y = start(results, columns.length - 1), colour = factors.length > 1 ? columns.indexOf(factors[1]) : -1;
    const mean = named(/^(?!.*half).*response_time_mean|mean_ms/), rate = named(/throughput_rps$/);
    if (mean >= 0) y = mean;
    if (rate >= 0 && mean >= 0) x = rate;
    let senses = [better(columns[x]), better(columns[y])], front = spec.front, u, rows = [], drawn = 0, at = -1, hits = new Set();
    const filters = new Map();
    const text = (column, value) => (value === null ? 'unknown' : column.levels ? column.levels[value] : withUnit(value, column.unit));
    const told = (row) => [columns[x], columns[y], ...factors.filter((column) => column !== columns[x] && column !== columns[y])]
      .map((column) => `${column.name}: ${text(column, column.values[row])}`).join('\n');
    const passes = (row) => [...filters].every(([index, test]) => test(columns[index].values[row]));
    function pareto() {
      const best = [];
      const sorted = [...rows].sort((a, b) => senses[0] * (columns[x].values[b] - columns[x].values[a]) || senses[1] * (columns[y].values[b] - columns[y].values[a]));
      let reached = -Infinity;
      for (const row of sorted) {
        const value = senses[1] * columns[y].values[row];
        if (value > reached) { best.push(row); reached = value; }
      }
      return new Set(best);
    }
    function groups() {
      if (colour < 0) return [['all runs', () => true]];
      const column = columns[colour];
      if (column.levels && column.levels.length <= 6) return column.levels.map((level, index) => [`${column.name}: ${level}`, (row) => column.values[row] === index]);
      if (column.levels) {
        const common = [...column.levels.keys()].sort((a, b) => rows.filter((row) => column.values[row] === b).length - rows.filter((row) => column.values[row] === a).length).slice(0, 5);
        return [...common.map((level) => [`${column.name}: ${column.levels[level]}`, (row) => column.values[row] === level]), ['others', (row) => !common.includes(column.values[row])]];
      }
      const distinct = [...new Set(column.values.filter((value) => value !== null))].sort((a, b) => a - b);
      if (distinct.length <= 5) return distinct.map((value) => [`${column.name}: ${withUnit(value, column.unit)}`, (row) => column.values[row] === value]);
      const cut = (share) => distinct[Math.floor(share * (distinct.length - 1))];
      const edges = [cut(0), cut(0.25), cut(0.5), cut(0.75), cut(1)];
      return [0, 1, 2, 3].map((index) => [`${column.name}: ${show(edges[index])} to ${withUnit(edges[index + 1], column.unit)}`,
        (row) => column.values[row] !== null && (index === 0 || column.values[row] > edges[index]) && column.values[row] <= edges[index + 1]]);
    }
    const keysBox = make('div', { className: 'controls keys' }), counted = make('p', { className: 'faint' });
    counted.setAttribute('role', 'status');
    const table = make('div', { className: 'scroll', tabIndex: 0 });
    table.setAttribute('role', 'region'); table.setAttribute('aria-label', 'Runs of the Pareto front');
    function draw() {
      rows = [...Array(count).keys()].filter((row) => columns[x].values[row] !== null && columns[y].values[row] !== null && passes(row));
      rows.sort((a, b) => columns[x].values[a] - columns[x].values[b]);
      hits = front ? pareto() : new Set();
      const split = groups();
      if (u) u.destroy();
      const width = drawn = place.plot.clientWidth;
      const height = Math.max(260, Math.min(440, width * 0.7));
      const data = [rows.map((row) => columns[x].values[row]), ...split.map(([, test]) => rows.map((row) => (test(row) ? columns[y].values[row] : null)))];
      data.push(rows.map((row) => (hits.has(row) ? columns[y].values[row] : null)));
      const zero = (column) => (column.levels ? (_, low, high) => [low - 0.5, high + 0.5] : (_, low, high) => (low === null ? [0, 1] : [Math.min(0, low), high > 0 ? high * 1.05 : 1]));
      const side = (column) => ({ label: column.name, unit: column.unit, levels: column.levels });
      u = new uPlot({
        width, height, legend: { show: false }, cursor: { drag: { x: true, y: true, uni: 20 }, points: { show: false } },
        scales: { x: { time: false, range: zero(columns[x]) }, y: { range: zero(columns[y]) } },
        axes: [axis(side(columns[x]), { room: width - 80 }), axis(side(columns[y]), { size: 62, room: height - 60 })],
        series: [{}, ...split.map(([label], index) => ({ label, stroke: css(`--s${index % 6}`), paths: () => null, points: { show: true, size: 9, width: 1.5, fill: index % 2 ? css('--ground') : css(`--s${index % 6}`) } })),
          { label: 'Pareto front', stroke: css('--text'), width: 1.5, dash: [6, 3], spanGaps: true, show: front, points: { show: true, size: 15, width: 1.5, fill: 'transparent' } }],
      }, data, place.plot);
      u.over.addEventListener('mousemove', (event) => {
        const bounds = u.over.getBoundingClientRect();
        let least = 900, near = -1;
        rows.forEach((row, index) => {
          const dx = u.valToPos(columns[x].values[row], 'x') - (event.clientX - bounds.left), dy = u.valToPos(columns[y].values[row], 'y') - (event.clientY - bounds.top);
          if (dx * dx + dy * dy < least) { least = dx * dx + dy * dy; near = index; }
        });
        if (near >= 0) tell(near); else place.say('');
      });
      place.plot.append(place.tip);
      keysBox.replaceChildren(...split.map(([label], index) => key(label, index, (on) => u.setSeries(index + 1, { show: on }), true)));
      counted.textContent = `${rows.length} of ${count} points are shown.` + (front ? ` ${hits.size} of them are on the Pareto front: no other is better in both.` : '');
      table.hidden = !front;
      const list = rows.filter((row) => hits.has(row)).slice(0, 50);
      const shown = [columns[x], columns[y], ...factors.filter((column) => column !== columns[x] && column !== columns[y])];
      table.replaceChildren(make('table', {}, make('caption', { textContent: front ? 'The Pareto front' : 'No front is shown' }),
        make('thead', {}, make('tr', {}, ...shown.map((column) => make('th', { scope: 'col', textContent: column.unit ? `${column.name} (${column.unit})` : column.name })))),
        make('tbody', {}, ...list.map((row) => make('tr', {}, ...shown.map((column) => make('td', { textContent: column.levels ? text(column, column.values[row]) : show(column.values[row]) })))))));
    }
    function tell(index) {
      at = Math.max(0, Math.min(rows.length - 1, index));
      if (!rows.length) return;
      place.say((hits.has(rows[at]) ? 'On the Pareto front\n' : '') + told(rows[at]), u.valToPos(columns[x].values[rows[at]], 'x') + u.bbox.left / devicePixelRatio, u.valToPos(columns[y].values[rows[at]], 'y') + 14);
    }
    const names = columns.map((column) => column.name);
    const directions = ['larger is better', 'smaller is better'];
    const sense = [0, 1].map((which) => choice(which ? 'Vertical:' : 'Horizontal:', directions, (value) => { senses[which] = value ? -1 : 1; draw(); }, senses[which] > 0 ? 0 : 1));
    const set = (which, column) => { senses[which] = better(column); sense[which].querySelector('select').value = senses[which] > 0 ? '0' : '1'; draw(); };
    place.controls.append(
      choice('Horizontal', names, (index) => { x = index; set(0, columns[x]); }, x),
      choice('Vertical', names, (index) => { y = index; set(1, columns[y]); }, y),
      choice('Colour', ['none', ...names], (index) => { colour = index - 1; draw(); }, colour + 1));
    const check = make('input', { type: 'checkbox', checked: front });
    check.addEventListener('change', () => { front = check.checked; draw(); });
    place.controls.append(make('label', {}, check, 'Pareto front'), ...sense);
    const filterBox = make('details', {}, make('summary', { textContent: 'Filters' })), inner = make('div', { className: 'controls' });
    columns.forEach((column, index) => {
      if (column.role !== 'factor') return;
      if (column.levels || new Set(column.values).size <= 12) {
        const values = column.levels ? [...column.levels.keys()] : [...new Set(column.values)].filter((value) => value !== null).sort((a, b) => a - b);
        inner.append(choice(column.name, ['all', ...values.map((value) => text(column, value))], (picked) => {
          if (picked === 0) filters.delete(index); else filters.set(index, (value) => value === values[picked - 1]);
          draw();
        }));
      } else {
        const low = make('input', { type: 'number', step: 'any', placeholder: 'least' }), high = make('input', { type: 'number', step: 'any', placeholder: 'most' });
        low.setAttribute('aria-label', `${column.name}, least`); high.setAttribute('aria-label', `${column.name}, most`);
        const change = () => { filters.set(index, (value) => (low.value === '' || value >= Number(low.value)) && (high.value === '' || value <= Number(high.value))); draw(); };
        low.addEventListener('change', change); high.addEventListener('change', change);
        inner.append(make('span', {}, `${column.name}${column.unit ? ` (${column.unit})` : ''} `, low, ' to ', high));
      }
    });
    filterBox.append(inner);
    const reset = make('button', { type: 'button', textContent: 'Show all' });
    reset.addEventListener('click', () => u.setData(u.data, true));
    place.controls.append(reset);
    place.controls.after(filterBox, keysBox);
    place.plot.after(counted, table);
    draw();
    keys(place, () => u, (step) => tell(Number.isFinite(step) ? at + step : step < 0 ? 0 : rows.length - 1));
    return { draw, resize: () => { if (place.plot.clientWidth !== drawn) draw(); } };
  }

  const KINDS = { lines, timeline: lines, heat, explore };
  const charts = [];
  const redraw = () => charts.forEach((chart) => chart.draw());
  function theme(name) {
    root.dataset.theme = name;
    const button = document.querySelector('.theme');
    if (button) button.textContent = name === 'dark' ? 'Light' : 'Dark';
  }
  // a wide screen has room for the contents beside the results
  const wide = window.matchMedia('(min-width: 1100px)');
  const contents = document.querySelector('details.contents');
  const unfold = () => { if (contents) contents.open = wide.matches; };
  unfold();
  wide.addEventListener('change', unfold);
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  theme(dark.matches ? 'dark' : 'light');
  dark.addEventListener('change', () => { theme(dark.matches ? 'dark' : 'light'); redraw(); });
  document.querySelector('.theme')?.addEventListener('click', () => { theme(root.dataset.theme === 'dark' ? 'light' : 'dark'); redraw(); });
  let before = null;
  window.addEventListener('beforeprint', () => { before = root.dataset.theme; theme('light'); document.querySelectorAll('details:not(.data)').forEach((one) => { one.open = true; }); redraw(); });
  window.addEventListener('afterprint', () => { theme(before ?? 'light'); redraw(); });

  const waiting = [...document.querySelectorAll('figure[data-chart]')];
  function next() {
    const figure = waiting.shift();
    if (!figure) { root.dataset.drawn = String(charts.length); return; }
    const { name, data } = JSON.parse(document.getElementById(figure.dataset.chart).textContent);
    charts.push(KINDS[data.kind](figure, data, name));
    setTimeout(next, 0);
  }
  requestAnimationFrame(() => setTimeout(next, 0));
  let pending = 0;
  window.addEventListener('resize', () => { clearTimeout(pending); pending = setTimeout(() => charts.forEach((chart) => chart.resize()), 120); });
})();
