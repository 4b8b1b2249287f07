// Requests as dots on their way through client, network, cache and disks, at a time of a film.
'use strict';
const pictures = (() => {
  const LEAVES = 1, HIT = 2, DISK = 5, COMPLETE = 7;
  const flash = 0.4; // seconds of the film that a hit or a completion is shown

  // What of each dot holds from when to when: [from, to, state, host, other]
  function prepare(film, pace) {
    const shown = flash * pace * 1000;
    film.dots.forEach((dot) => {
      dot.spans = [];
      dot.steps.forEach(([at, step, host, other], index) => {
        const next = dot.steps[index + 1];
        const to = next ? next[0] : step === LEAVES ? at + 100 : step === COMPLETE ? at + shown : Infinity;
        dot.spans.push([at, to, step, host, other]);
      });
      const end = dot.spans.at(-1);
      // an exchange that is heard of no more has come to its end: at its client at once, for the request flashes
      if (end[1] === Infinity && !dot.whole && end[2] !== DISK) end[1] = end[0] + (film.hosts[end[3]]?.is_node ? shown : 1);
      dot.from = dot.spans[0][0];
      dot.to = Math.max(...dot.spans.map((span) => span[1]));
    });
    film.dots.sort((one, other) => one.from - other.from);
    film.length = film.to_us - film.from_us;
    return film;
  }

  // When hosts are down, in µs of the film, which begins `from_ms` after the warm-up
  function markDown(film, happened, from_ms) {
    const down = new Map();
    for (const { at_s, what, host } of happened) {
      const at = at_s * 1e6 - from_ms * 1000;
      if (!down.has(host)) down.set(host, []);
      const spans = down.get(host), last = spans.at(-1);
      if (what === 'fail') spans.push([at, Infinity]);
      else if (what === 'return' && last) last[1] = at;
    }
    for (const host of film.hosts) host.down = down.get(host.name) ?? [];
  }
  const isDown = (host, at) => (host.down ?? []).some(([from, to]) => from <= at && at < to);

  const colours = () => {
    const style = getComputedStyle(document.documentElement);
    return (name) => style.getPropertyValue(`--${name}`).trim();
  };

  function layout(film, width, height) {
    const nodes = film.hosts.filter((host) => host.is_node), clients = film.hosts.filter((host) => !host.is_node);
    const narrow = width < 460, places = new Map();
    const rows = (all, x, wide) => all.forEach((host, index) => {
      const room = (height - 34) / all.length, tall = Math.min(room - 6, 96);
      places.set(host, { x, y: 24 + room * (index + 0.5) - tall / 2, wide, tall });
    });
    rows(clients, 8, narrow ? 62 : 92);
    rows(nodes, width * (narrow ? 0.44 : 0.5), width * (narrow ? 0.56 : 0.5) - 8);
    return { places, wire: width * (narrow ? 0.33 : 0.34), narrow, nodes, clients };
  }

  // Where something waits at a host: `slot` counts those that are there
  const spot = (box, slot, x, columns = 4) => [x + (slot % columns) * 11, box.y + 14 + Math.floor(slot / columns) * 11];

  function draw(canvas, film, at) {
    const scale = Math.min(2, window.devicePixelRatio || 1), width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * scale)) { canvas.width = Math.round(width * scale); canvas.height = Math.round(height * scale); }
    const pen = canvas.getContext('2d'), colour = colours();
    const counts = { clients: 0, network: 0, cache: 0, waiting: 0, disks: 0, down: [] };
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    const { places, wire, narrow } = layout(film, width, height);
    pen.font = '12px system-ui, sans-serif';
    pen.textBaseline = 'middle';
    // the wires
    pen.strokeStyle = colour('line');
    pen.lineWidth = 1.5;
    for (const [host, box] of places) {
      pen.beginPath();
      pen.moveTo(wire, height / 2 + 8);
      pen.lineTo(host.is_node ? box.x : box.x + box.wide, box.y + box.tall / 2);
      pen.stroke();
    }
    const head = (text, x) => { pen.fillStyle = colour('faint'); pen.fillText(text, x, 10); };
    head('clients', 8); head('network', wire - 22); head(narrow ? 'cache' : 'node: cache', (places.get(film.hosts.find((host) => host.is_node))?.x ?? 0) + 2);
    const diskAt = (box) => box.x + box.wide * (narrow ? 0.8 : 0.8);
    head('disks', width * (narrow ? 0.44 : 0.5) + (width * (narrow ? 0.56 : 0.5) - 8) * 0.75);
    for (const [host, box] of places) {
      const dead = isDown(host, at);
      pen.fillStyle = colour('panel');
      pen.strokeStyle = colour(dead ? 'wrong' : 'line');
      pen.lineWidth = dead ? 2.5 : 1.5;
      pen.setLineDash(dead ? [5, 4] : []);
      pen.beginPath();
      pen.roundRect(box.x, box.y, box.wide, box.tall, 6);
      pen.fill();
      pen.stroke();
      pen.setLineDash([]);
      pen.lineWidth = 1.5;
      pen.strokeStyle = colour('line');
      pen.fillStyle = colour(dead ? 'text' : 'faint');
      pen.fillText(host.name, box.x + 5, box.y + box.tall - 9, box.wide * 0.45);
      if (dead) {
        // a cross and a word: not by colour alone
        counts.down.push(host.name);
        pen.save();
        pen.strokeStyle = pen.fillStyle = colour('wrong');
        pen.lineWidth = 2.5;
        const size = Math.min(9, box.tall / 4), x = box.x + 8 + size, y = box.y + 6 + size;
        pen.beginPath();
        pen.moveTo(x - size, y - size); pen.lineTo(x + size, y + size);
        pen.moveTo(x + size, y - size); pen.lineTo(x - size, y + size);
        pen.stroke();
        pen.font = 'bold 13px system-ui, sans-serif';
        pen.fillText('down', x + size + 6, y, box.wide * 0.5);
        pen.restore();
      }
      if (host.is_node) {
        for (let disk = 0; disk < Math.max(1, host.disks); disk += 1) {
          const [x, y] = diskCentre(box, host, disk, diskAt(box));
          pen.beginPath();
          pen.arc(x, y, diskSize(box, host), 0, 7);
          pen.stroke();
        }
      }
    }
    pen.beginPath();
    pen.arc(wire, height / 2 + 8, 10, 0, 7);
    pen.fillStyle = colour('panel');
    pen.fill();
    pen.stroke();

    const queues = new Map(), slots = new Map();
    const put = (x, y, dot, ring, size = 4.5) => {
      pen.beginPath();
      if (dot.write) pen.rect(x - size, y - size, 2 * size, 2 * size); else pen.arc(x, y, size, 0, 7);
      if (ring) { pen.strokeStyle = ring; pen.lineWidth = 2; pen.stroke(); } else { pen.fillStyle = colour(dot.write ? 's1' : 's0'); pen.fill(); }
    };
    for (const dot of film.dots) {
      if (dot.from > at) break;
      if (dot.to < at) continue;
      const span = dot.spans.find(([from, to]) => from <= at && at < to);
      if (!span) continue;
      const [from, to, step, number, other] = span;
      const host = film.hosts[number], box = places.get(host);
      if (!box) continue;
      if (step === LEAVES) {
        const [start, end] = [box, places.get(film.hosts[other])];
        if (!end) continue;
        counts.network += 1;
        const share = Math.min(1, (at - from) / Math.max(1, to - from));
        const side = (one, is) => [is ? one.x : one.x + one.wide, one.y + one.tall / 2];
        const path = [side(start, host.is_node), [wire, height / 2 + 8], side(end, film.hosts[other].is_node)];
        const leg = share < 0.5 ? 0 : 1, part = (share - leg * 0.5) * 2;
        put(path[leg][0] + (path[leg + 1][0] - path[leg][0]) * part, path[leg][1] + (path[leg + 1][1] - path[leg][1]) * part, dot);
      } else if (step === DISK) {
        const key = number * 1024 + other;
        if (!queues.has(key)) queues.set(key, { host, box, disk: other, all: [] });
        queues.get(key).all.push([to, dot]);
      } else {
        const isDone = step === COMPLETE;
        if (!host.is_node && dot.whole && !isDone) counts.clients += 1;
        if (host.is_node) counts.cache += 1;
        const slot = slots.get(host) ?? 0;
        slots.set(host, slot + 1);
        const columns = Math.max(2, Math.floor((host.is_node ? box.wide * 0.3 : box.wide - 12) / 11));
        const limit = columns * Math.max(1, Math.floor((box.tall - 26) / 11));
        if (slot >= limit) continue;
        const [x, y] = spot(box, slot, box.x + 11, columns);
        put(x, y, dot, isDone || step === HIT ? colour('s2') : dot.whole ? colour('faint') : '');
      }
    }
    for (const { host, box, disk, all } of queues.values()) {
      all.sort(([one], [other]) => one - other);
      const [x, y] = diskCentre(box, host, disk, diskAt(box));
      counts.disks += 1;
      counts.waiting += all.length - 1;
      const room = Math.floor((x - diskSize(box, host) - box.x - box.wide * 0.36) / 10);
      all.forEach(([, dot], place) => {
        if (place === 0) put(x, y, dot, '', 5.5);
        else if (place <= room) put(x - diskSize(box, host) - place * 10 + 2, y, dot, '', 4);
      });
      if (all.length - 1 > room) { pen.fillStyle = colour('text'); pen.fillText(`+${all.length - 1 - room}`, box.x + box.wide * 0.32, y - 11); }
    }
    return counts;
  }

  const diskSize = (box, host) => Math.max(5, Math.min(13, box.tall / (2.4 * Math.max(1, host.disks))));
  const diskCentre = (box, host, disk, x) => [x, box.y + box.tall * (disk + 0.5) / Math.max(1, host.disks)];
  return { prepare, markDown, draw };
})();
