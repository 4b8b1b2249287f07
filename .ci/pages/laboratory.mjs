// Checks a laboratory in headless Chromium: every lesson runs, its runs are those of the command, its law is near
// what is measured, requests move, nothing is loaded, nothing fails, the keyboard reaches all, axe-core finds no
// serious fault, at 360 and at 1440 pixels, light and dark.
//   node laboratory.mjs FORETELL LABORATORY.html
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { firstPaint, isUsable, launch, watch } from './common.mjs';

const [foretell, file] = process.argv.slice(2);
const path = resolve(file);
const faults = [];
const browser = await launch();
const size = readFileSync(path).length;
if (size >= 2_000_000) faults.push(`the page has ${size} bytes`);
const timeless = (text) => text.replace(/"wall_seconds": [^,\n]*/, '"wall_seconds": 0');
const rates = [];

async function open(width, colorScheme, hash, name) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, reducedMotion: 'reduce' });
  const page = await context.newPage();
  const fault = (what) => faults.push(`${name} at ${width} pixels: ${what}`);
  watch(page, fault, (url) => /^(file|blob|data):/.test(url));
  await page.goto(`file://${path}#${hash}`);
  return { page, context, fault };
}
const ran = (page) => page.waitForFunction(() => document.documentElement.dataset.ran, null, { timeout: 60_000 });
// the results that the page holds, as the engine gave them
const held = (page, key) => page.evaluate((wanted) => window.laboratory.text(wanted), key);

const { page: first, context: firstContext } = await open(1440, 'light', '', 'the first lesson');
await ran(first);
const paint = await firstPaint(first);
if (!(paint < 2000)) faults.push(`first paint after ${paint} ms`);
const lessons = await first.evaluate(() => JSON.parse(document.getElementById('lessons').textContent));
await firstContext.close();

for (const lesson of lessons) {
  const { settings, name } = lesson, { slider } = settings;
  for (const [width, scheme] of [[1440, 'light'], [360, 'dark']]) {
    const hash = `lesson=${name}&x=${slider.start}`;
    const { page, context, fault } = await open(width, scheme, hash, name);
    await ran(page).catch(() => fault('did not run within 60 s'));
    const outcome = await page.evaluate(() => document.documentElement.dataset.ran);
    if (outcome?.startsWith('failed')) fault(outcome);
    if (width === 1440) {
      const sides = settings.side.length ? settings.side : [{ set: [] }];
      for (const [side, { set }] of sides.entries()) {
        const changes = [...set, ...slider.set.map((change) => change.replaceAll('{x}', String(slider.start)))];
        const there = execFileSync(foretell, ['run', lesson.command, ...changes.flatMap((change) => ['--set', change]), '--json'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
        const here = await held(page, `${name} ${side} ${slider.start}`);
        if (timeless(here ?? '') !== timeless(there)) fault(`side ${side} differs from what the command gives`);
      }
    }
    // before an answer there is no law; then there is
    if (await page.locator('.curves').isVisible()) fault('the law is shown before the question is answered');
    await page.locator('#question button').click();
    if (!/guess/.test(await page.locator('#verdict').textContent())) fault('no answer is taken for one');
    await page.locator(`#question input[value="${settings.answer}"]`).check();
    await page.locator('#question button').click();
    if (!/^Right/.test(await page.locator('#verdict').textContent())) fault('the right answer is not taken for right');
    if (width === 1440) {
      await page.waitForFunction((wanted) => document.documentElement.dataset.swept === wanted, name, { timeout: 120_000 }).catch(() => fault('not all of the slider ran within 120 s'));
      const rows = await page.evaluate(() => [...document.querySelectorAll('.curves tbody tr')].map((row) => [...row.children].map((cell) => Number(cell.textContent.replaceAll(',', '')))));
      let worst = 0;
      for (const [, ...cells] of rows) for (let at = 0; at < cells.length; at += 2) worst = Math.max(worst, Math.abs(cells[at] - cells[at + 1]) / Math.max(cells[at], cells[at + 1]));
      if (!(worst < 0.2)) fault(`the law is off by ${Math.round(100 * worst)} %`);
      const speed = await page.evaluate(() => window.laboratory.speed());
      rates.push(speed);
      console.log(`${name}: law off by ${(100 * worst).toFixed(1)} % at most, ${(speed / 1e6).toFixed(2)} million events a second`);
    }
    // the picture moves, and says in words what it shows
    const scene = () => page.evaluate(() => { const canvas = document.querySelector('canvas.film'); return [canvas.toDataURL(), canvas.getAttribute('aria-label')]; });
    const before = await scene();
    await page.locator('#play').click();
    let after = before;
    for (let wait = 0; wait < 40 && after[0] === before[0]; wait += 1) {
      await page.waitForTimeout(200);
      after = await scene();
    }
    await page.locator('#play').click();
    if (before[0] === after[0]) fault('the picture does not move');
    if (!/\d+ on the network/.test(after[1])) fault(`the picture says ${after[1]}`);
    // a host that is down is marked, and the picture says so: in the lesson on failures that of the right side alone
    const words = await page.evaluate(() => [...document.querySelectorAll('canvas.film')].map((canvas) => canvas.getAttribute('aria-label')));
    const marked = words.map((text) => /; down: brick3$/.test(text)), wanted = words.map((_, side) => name === 'failure' && side === 1);
    if (String(marked) !== String(wanted)) fault(`the picture says of hosts that are down: ${words.join(' | ')}`);
    // each state has a link: the slider by the keyboard, then the page loaded again
    await page.locator('#slider').focus();
    await page.keyboard.press('Home');
    await page.waitForFunction((wanted) => document.documentElement.dataset.ran === wanted, `${name} 0 ${slider.values[0]}`, { timeout: 60_000 }).catch(() => fault('the keyboard does not move the slider'));
    const link = await page.evaluate(() => location.hash);
    if (!link.includes(`x=${slider.values[0]}&answer=${settings.answer}`)) fault(`the link is ${link}`);
    const command = await page.locator('#command').textContent();
    if (!command.includes(`foretell run ${lesson.command}`)) fault(`the command line is ${command}`);
    await isUsable(page, width, fault, 'button, select, input, a[href], summary, .scroll');
    await page.screenshot({ path: `shots/laboratory-${name}-${width}.png`, fullPage: true });
    await context.close();
  }
}
await browser.close();
faults.forEach((fault) => console.error(fault));
console.log(`laboratory: ${lessons.length} lessons, ${(size / 1e6).toFixed(2)} MB, first paint ${Math.round(paint)} ms, up to ${(Math.max(...rates) / 1e6).toFixed(2)} million events a second`);
process.exit(faults.length ? 1 : 0);
