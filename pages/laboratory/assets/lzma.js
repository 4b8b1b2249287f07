// Unpacks a file of LZMA (`.lzma`), which pages/laboratory/src/packed.rs writes. Browsers unpack gzip themselves; LZMA makes
// the engine a third smaller, because it finds repetitions at any distance. Written from the specification of LZMA by
// Igor Pavlov, which is in the public domain.
//
// What is packed is a sequence of bits. For each bit the packer and we guess how likely it is a 0, from earlier bits in
// the same place. A bit that is likely takes little space: less than a bit of the file. The bits say what comes next: one
// byte (a literal), or some bytes again that came before (a match: a length and a distance).
//
// Whatever the bytes are, this ends: each step makes a byte, and there are no more of them than the header says.
function unpackLzma(packed) {
  const damaged = (what) => { throw new Error(`the engine in this page is damaged: ${what}`); };

  // ---- the header: settings, the largest distance, the size
  const HEADER = 13, MAX_BYTES = 64 * 1024 * 1024;
  if (packed.length < HEADER + 5) damaged(`it has ${packed.length} bytes, fewer than its header`);
  const header = new DataView(packed.buffer, packed.byteOffset, HEADER);
  const settings = packed[0], farthest = Math.max(header.getUint32(1, true), 4096), size = header.getUint32(5, true);
  if (settings >= 9 * 5 * 5) damaged(`its settings are ${settings}, expected less than 225`);
  if (header.getUint32(9, true) !== 0 || size > MAX_BYTES) damaged(`its size is not given, or above ${MAX_BYTES} bytes`);
  // a literal is predicted from some bits of the byte before it, and of its place; a match from some bits of its place
  const byteBits = settings % 9, placeBits = Math.floor(settings / 9) % 5, matchPlaceBits = Math.floor(settings / 45);
  const literalPlaces = (1 << placeBits) - 1, matchPlaces = (1 << matchPlaceBits) - 1;

  // ---- bits
  // The rest of the file is one long number. `coder[RANGE]` is the width of what it can still be, `coder[CODE]` where in
  // it the number is. A bit splits the range in two parts, as wide as a 0 and a 1 are likely.
  // (An array, because the values of a plain variable would not stay whole numbers of 32 bits.)
  const RANGE = 0, CODE = 1, coder = new Uint32Array([0xffffffff, 0]);
  let from = HEADER;
  const byte = () => (from < packed.length ? packed[from++] : damaged('it ends early'));
  if (byte() !== 0) damaged('its first byte is not 0');
  for (let left = 4; left > 0; left -= 1) coder[CODE] = (coder[CODE] << 8) | byte();
  const refill = () => {
    if (coder[RANGE] >= 1 << 24) return;
    coder[RANGE] <<= 8;
    coder[CODE] = (coder[CODE] << 8) | byte();
  };
  // chances of a 0, of 2048; at first it is as likely as a 1
  const chancesFor = (count) => new Uint16Array(count).fill(1024);
  const bit = (chances, at) => {
    const chance = chances[at], zeros = Math.imul(coder[RANGE] >>> 11, chance) >>> 0;
    const is = coder[CODE] < zeros ? 0 : 1;
    if (is) {
      coder[RANGE] -= zeros;
      coder[CODE] -= zeros;
      chances[at] = chance - (chance >> 5);
    } else {
      coder[RANGE] = zeros;
      chances[at] = chance + ((2048 - chance) >> 5);
    }
    refill();
    return is;
  };
  // a number whose bits are equally likely
  const plain = (bits) => {
    let value = 0;
    for (let left = bits; left > 0; left -= 1) {
      coder[RANGE] >>>= 1;
      const is = coder[CODE] < coder[RANGE] ? 0 : 1;
      if (is) coder[CODE] -= coder[RANGE];
      refill();
      value = value * 2 + is;
    }
    return value;
  };
  // a number of some bits, each with chances that depend on the bits before it: highest bit first, or lowest first
  const number = (chances, bits, start = 0) => {
    let node = 1;
    for (let left = bits; left > 0; left -= 1) node = (node << 1) | bit(chances, start + node);
    return node - (1 << bits);
  };
  const backward = (chances, bits, start = 0) => {
    let node = 1, value = 0;
    for (let place = 0; place < bits; place += 1) {
      const is = bit(chances, start + node);
      node = (node << 1) | is;
      value |= is << place;
    }
    return value;
  };

  // ---- lengths: 2 to 9, 10 to 17, 18 to 273
  const lengths = () => ({ choice: chancesFor(2), short: chancesFor(16 << 3), middle: chancesFor(16 << 3), long: chancesFor(256) });
  const length = (chances, place) => {
    if (!bit(chances.choice, 0)) return 2 + number(chances.short, 3, place << 3);
    if (!bit(chances.choice, 1)) return 10 + number(chances.middle, 3, place << 3);
    return 18 + number(chances.long, 8);
  };

  // ---- distances, counted from 0: a slot says how many bits, and the two highest; few others have chances of their own
  const slots = chancesFor(4 << 6), middleBits = chancesFor(128), lowBits = chancesFor(16);
  const distance = (long) => {
    const slot = number(slots, 6, Math.min(long - 2, 3) << 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1, highest = (2 | (slot & 1)) * 2 ** bits;
    if (slot < 14) return highest + backward(middleBits, bits, highest - slot);
    return highest + plain(bits - 4) * 16 + backward(lowBits, 4);
  };

  // ---- the bytes
  // `state`: what the last steps were, of which the next depends; below 7 the last was a literal
  const bytes = new Uint8Array(size), literals = chancesFor(0x300 << (byteBits + placeBits));
  const isMatch = chancesFor(12 << 4), isAgain = chancesFor(12), isOlder = chancesFor(12), isThird = chancesFor(12);
  const isFourth = chancesFor(12), isLonger = chancesFor(12 << 4), ofNew = lengths(), ofAgain = lengths();
  let state = 0, last = 0, second = 0, third = 0, fourth = 0; // the last four distances
  for (let to = 0; to < size;) {
    const place = to & matchPlaces;
    if (!bit(isMatch, (state << 4) + place)) {
      const before = to > 0 ? bytes[to - 1] : 0;
      const start = 0x300 * (((to & literalPlaces) << byteBits) + (before >> (8 - byteBits)));
      let node = 1;
      if (state >= 7) {
        // after a match: it ended here, so this is probably not the byte that would have continued it
        let other = bytes[to - last - 1];
        do {
          const wanted = (other >> 7) & 1;
          other <<= 1;
          const is = bit(literals, start + ((1 + wanted) << 8) + node);
          node = (node << 1) | is;
          if (is !== wanted) break;
        } while (node < 0x100);
      }
      while (node < 0x100) node = (node << 1) | bit(literals, start + node);
      bytes[to] = node;
      to += 1;
      state = state < 4 ? 0 : state - (state < 10 ? 3 : 6);
      continue;
    }
    const afterLiteral = state < 7;
    let long;
    if (bit(isAgain, state)) {
      // one of the last four distances
      if (to === 0) damaged('it repeats what is not there');
      long = 0;
      if (!bit(isOlder, state)) {
        if (!bit(isLonger, (state << 4) + place)) long = 1;
      } else {
        let found;
        if (!bit(isThird, state)) {
          found = second;
        } else {
          if (!bit(isFourth, state)) {
            found = third;
          } else {
            found = fourth;
            fourth = third;
          }
          third = second;
        }
        second = last;
        last = found;
      }
      if (long === 1) {
        state = afterLiteral ? 9 : 11;
      } else {
        long = length(ofAgain, place);
        state = afterLiteral ? 8 : 11;
      }
    } else {
      fourth = third;
      third = second;
      second = last;
      long = length(ofNew, place);
      last = distance(long);
      state = afterLiteral ? 7 : 10;
    }
    if (last >= to || last >= farthest) damaged(`byte ${to} repeats what is not there`);
    if (long > size - to) damaged(`it goes on after its ${size} bytes`);
    // byte by byte: a match may repeat what it makes
    for (const end = to + long; to < end; to += 1) bytes[to] = bytes[to - last - 1];
  }
  if (coder[CODE] !== 0 || from !== packed.length) damaged('it does not end where its bytes do');
  return bytes;
}
