// Text as bytes: four bytes in five letters, as pages/laboratory/src/base85.rs has it.
function bytesOf(text) {
  const digit = (at) => { const code = text.charCodeAt(at); return code < 60 ? code - 35 : code - 36; };
  const left = text.length % 5, bytes = new Uint8Array(Math.floor(text.length / 5) * 4 + Math.max(0, left - 1));
  for (let at = 0, to = 0; at < text.length; at += 5) {
    let value = 0;
    for (let place = 0; place < 5; place += 1) value = value * 85 + (at + place < text.length ? digit(at + place) : 84);
    for (let shift = 24; shift >= 0 && to < bytes.length; shift -= 8, to += 1) bytes[to] = (value >>> shift) & 255;
  }
  return bytes;
}
