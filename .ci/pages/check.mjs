// Checks pages in headless Chromium: nothing is loaded, nothing fails, every chart is drawn, answers the pointer
// and the keyboard, and axe-core finds no serious fault, at 360 and at 1440 pixels, light and dark.
import { basename, resolve } from 'node:path';
import { firstPaint, isUsable, launch, watch } from './common.mjs';

const faults = [];
const browser = await launch();

for (const file of process.argv.slice(2)) {
  for (const [width, colorScheme] of [[1440, 'light'], [360, 'dark']]) {
    await check(resolve(file), width, colorScheme);
  }
}
await browser.close();
if (faults.length) {
  console.error(faults.join('\n'));
  process.exit(1);
}

async function check(path, width, colorScheme) {
  const name = `${basename(path, '.html')} at ${width} pixels`;
  const fault = (what) => faults.push(`${name}: ${what}`);
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, reducedMotion: 'reduce' });
  const page = await context.newPage();
  watch(page, fault, (url) => url === `file://${path}` || url.startsWith('data:'));
  await page.goto(`file://${path}`);
  const charts = await page.locator('figure[data-chart]').count();
  await page.waitForFunction((wanted) => document.documentElement.dataset.drawn === String(wanted), charts, { timeout: 20_000 })
    .catch(() => fault('the charts were not drawn within 20 s'));
  const paint = await firstPaint(page);
  if (!(paint < 1000)) fault(`first paint after ${paint} ms`);

  // pixels: a blank canvas has one colour
  const blank = await page.evaluate(() => [...document.querySelectorAll('figure[data-chart]')].filter((figure) => {
    const canvas = figure.querySelector('canvas');
    if (!canvas) return true;
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set();
    for (let at = 0; at < data.length && colours.size < 8; at += 4) colours.add(data.slice(at, at + 4).join());
    return colours.size < 8;
  }).map((figure) => figure.querySelector('h3').textContent));
  blank.forEach((title) => fault(`the chart "${title}" is blank`));

  for (let index = 0; index < charts; index += 1) {
    const figure = page.locator('figure[data-chart]').nth(index);
    const title = await figure.locator('h3').textContent();
    const plot = figure.locator('.plot');
    const tip = plot.locator('.tip');
    await plot.scrollIntoViewIfNeeded();
    const area = plot.locator('.u-over, canvas.own').first();
    const box = await area.boundingBox();
    let hovered = '';
    for (let step = 0; step < 400 && !hovered; step += 1) {
      // all over the area, the middle first
      const x = box.width * ((0.5 + step * 0.37) % 1), y = box.height * ((0.3 + step * 0.0487) % 1);
      await area.hover({ position: { x, y }, force: true });
      hovered = await tip.textContent();
    }
    if (!/\d/.test(hovered)) fault(`"${title}" says nothing where the pointer is`);
    await page.mouse.move(0, 0);
    await plot.focus();
    for (const key of ['ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
    const read = await tip.textContent();
    if (!/\d/.test(read)) fault(`"${title}" says nothing to the arrow keys`);
    for (const key of ['+', '-', '0']) await page.keyboard.press(key);
    const keys = figure.locator('.key');
    if (await keys.count() > 1) {
      await keys.first().click();
      if (await keys.first().getAttribute('aria-pressed') !== 'false') fault(`"${title}": a line cannot be hidden`);
      await keys.first().click();
    }
    const choices = figure.locator('select').first();
    if (await choices.count()) {
      const options = await choices.locator('option').count();
      await choices.selectOption({ index: options - 1 });
      await choices.selectOption({ index: 0 });
    }
  }

  const places = await isUsable(page, width, fault, 'button, select, input, a[href], summary, .plot, .scroll');
  await page.screenshot({ path: `shots/${basename(path, '.html')}-${width}.png`, fullPage: true });
  if (width > 1000) {
    const pdf = await page.pdf();
    if (pdf.length < 10_000) fault('it prints nothing');
  }
  await context.close();
  console.log(`${name}: ${charts} charts, ${places} stops of the keyboard, first paint ${Math.round(paint)} ms`);
}
