// The worker of a laboratory unpacks from the page, under Node, the very engine that the page was made of. What is
// damaged is refused, in a sentence.
//   node page.mjs ENGINE.wasm LABORATORY.html
import { readFileSync } from 'node:fs';
import { runInThisContext } from 'node:vm';

const [wasm, page] = process.argv.slice(2);
const script = (name) => readFileSync(new URL(`../../pages/laboratory/assets/${name}.js`, import.meta.url), 'utf8');
const { bytesOf, unpackLzma } = runInThisContext(`${script('base85')}\n${script('lzma')}\n({ bytesOf, unpackLzma })`);
const packed = bytesOf(/<script type="text\/plain" id="engine">([^<]*)<\/script>/.exec(readFileSync(page, 'utf8'))[1]);
const faults = [];

const begun = performance.now();
const engine = unpackLzma(packed);
const milliseconds = Math.round(performance.now() - begun);
if (Buffer.compare(engine, readFileSync(wasm)) !== 0) faults.push('the page unpacks another engine than it was made of');

// what is damaged, and words of the sentence
const changed = (at, ...values) => { const other = packed.slice(); other.set(values, at); return other; };
const half = packed.length >> 1;
// the size in the header, whose low half is a little-endian number in bytes 5 to 8, changed by a number of bytes
const resized = (bytes) => {
  const other = packed.slice(), header = new DataView(other.buffer);
  header.setUint32(5, header.getUint32(5, true) + bytes, true);
  return other;
};
for (const [what, damaged, words] of [
  ['nothing', packed.slice(0, 0), 'fewer than its header'],
  ['a header alone', packed.slice(0, 13), 'fewer than its header'],
  ['unknown settings', changed(0, 225), 'settings'],
  ['no size', changed(5, 255, 255, 255, 255, 255, 255, 255, 255), 'size'],
  ['a size of 4 GB', changed(5, 255, 255, 255, 255), 'size'],
  ['a size that is a byte too small', resized(-1), ''],
  ['a size that is 64 KiB too great', resized(1 << 16), 'ends early'],
  ['a beginning that is not 0', changed(13, 1), 'first byte'],
  ['a small dictionary', changed(1, 0, 0, 0, 0), 'repeats what is not there'],
  ['half of it', packed.slice(0, half), 'ends early'],
  ['all but a byte', packed.slice(0, -1), 'ends early'],
  ['a byte too many', Buffer.concat([packed, Buffer.alloc(1)]), 'does not end'],
  ['ones alone', changed(14, ...new Array(1000).fill(255)), ''],
  ...[14, 100, 10_000, half, packed.length - 1].map((at) => [`another bit in byte ${at}`, changed(at, packed[at] ^ 4), '']),
]) {
  let sentence = '';
  try { unpackLzma(damaged); } catch ({ message }) { sentence = message; }
  if (!sentence.startsWith('the engine in this page is damaged: ') || !sentence.includes(words)) faults.push(`of ${what} it says: ${sentence}`);
}

faults.forEach((fault) => console.error(fault));
console.log(`${packed.length} bytes, unpacked to ${engine.length} in ${milliseconds} ms`);
process.exit(faults.length ? 1 : 0);
