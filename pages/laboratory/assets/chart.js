// A chart of a law and of measurements over the slider, as SVG.
'use strict';
const drawChart = (() => {
  const node = (name, attributes, text) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const round = (most) => {
    const size = 10 ** Math.floor(Math.log10(most));
    return [1, 2, 2.5, 5, 10].map((step) => step * size).find((top) => top >= most) ?? most;
  };
  const short = (value) => (Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en') : String(+value.toPrecision(3)));
  const label = ({ label, unit }) => (unit ? `${label}, ${unit}` : label);

  // series: [{ name, law: [[x, y]], points: [[x, y]] }]
  return function draw(place, { slider, measure, law, series, x }) {
    const width = Math.max(280, Math.min(place.clientWidth || 640, 820)), height = Math.round(Math.max(220, width * 0.46));
    const left = 58, right = 14, top = 12, bottom = 44;
    const values = slider.values, low = values[0], high = values[values.length - 1];
    const log = low > 0 && high / low > 30;
    const scale = log ? Math.log : (value) => value;
    const across = (value) => left + (scale(value) - scale(low)) / (scale(high) - scale(low)) * (width - left - right);
    const points = series.flatMap((one) => one.points), lines = series.flatMap((one) => one.law);
    const finite = (pairs) => pairs.map(([, y]) => y).filter(Number.isFinite);
    const measured = Math.max(0, ...finite(points));
    // a law that goes to infinity does not squeeze what was measured
    const lawful = Math.max(0, ...finite(lines).filter((y) => !measured || y < 3 * measured));
    const most = round(Math.max(measured, lawful, 1e-9) * 1.05);
    const up = (value) => top + (1 - value / most) * (height - top - bottom);
    const svg = node('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': `${label(measure)} over ${label(slider)}: a line for the law, circles for what was measured; the table below has the figures` });
    for (let step = 0; step <= 4; step += 1) {
      const y = most * step / 4;
      svg.append(node('line', { class: 'grid', x1: left, x2: width - right, y1: up(y), y2: up(y) }));
      svg.append(node('text', { x: left - 6, y: up(y) + 4, 'text-anchor': 'end' }, short(y)));
    }
    let last = -Infinity;
    for (const value of values) {
      if (across(value) - last < 38) continue;
      last = across(value);
      svg.append(node('text', { x: last, y: height - bottom + 18, 'text-anchor': 'middle' }, short(value)));
    }
    svg.append(node('text', { x: (left + width - right) / 2, y: height - 6, 'text-anchor': 'middle' }, label(slider)));
    svg.append(node('line', { class: 'now', x1: across(x), x2: across(x), y1: top, y2: height - bottom }));
    const clip = `clip${Math.random().toString(36).slice(2)}`;
    const box = node('clipPath', { id: clip });
    box.append(node('rect', { x: left - 8, y: top - 8, width: width - left - right + 16, height: height - top - bottom + 16 }));
    svg.append(box);
    series.forEach((one, index) => {
      const drawn = one.law.filter(([, y]) => Number.isFinite(y) && y >= 0);
      if (drawn.length) {
        const path = drawn.map(([at, y], place) => `${place ? 'L' : 'M'}${across(at).toFixed(1)} ${Math.max(-1e4, up(y)).toFixed(1)}`).join('');
        svg.append(node('path', { class: `law s${index}`, d: path, 'clip-path': `url(#${clip})` }));
      }
      for (const [at, y] of one.points.filter(([, value]) => Number.isFinite(value))) {
        const name = one.name ? `${one.name}: ` : '';
        const size = at === x ? 7 : 4.5;
        const mark = index % 2
          ? node('rect', { class: `point s${index}`, x: across(at) - size, y: up(y) - size, width: 2 * size, height: 2 * size })
          : node('circle', { class: `point s${index}`, cx: across(at), cy: up(y), r: size });
        mark.append(node('title', {}, `${name}${short(y)} ${measure.unit} at ${short(at)} ${slider.unit}`));
        svg.append(mark);
      }
    });
    place.replaceChildren(svg);
    const legend = document.createElement('p');
    legend.className = 'legend';
    series.forEach((one, index) => {
      const entry = (kind, text) => {
        const span = document.createElement('span');
        const icon = node('svg', { width: 26, height: 12, 'aria-hidden': 'true' });
        icon.append(kind === 'law'
          ? node('path', { class: `law s${index}`, d: 'M0 6L26 6' })
          : index % 2 ? node('rect', { class: `point s${index}`, x: 8, y: 1, width: 10, height: 10 }) : node('circle', { class: `point s${index}`, cx: 13, cy: 6, r: 5 }));
        span.append(icon, ` ${one.name ? `${one.name}: ` : ''}${text}`);
        legend.append(span);
      };
      if (one.points.length) entry('point', `measured ${label(measure)}`);
      if (one.law.length) entry('law', label(law));
    });
    place.append(legend);
  };
})();
