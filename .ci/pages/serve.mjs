// Uses the served page in headless Chromium as people do: a fault is shown in place, a run makes progress, a slider
// asks, a curve is drawn, the path of a request is shown; nothing is loaded from elsewhere, nothing fails, the keyboard
// reaches all, and axe-core finds no serious fault.
//   node serve.mjs FORETELL DIR
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const [program, directory] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const faults = [];
const server = spawn(program, ['serve', directory, '--port', '0']);
const url = await new Promise((found, failed) => {
  server.stdout.on('data', (data) => { const at = /http:\S+/.exec(String(data)); if (at) found(at[0]); });
  server.on('exit', (code) => failed(new Error(`the server ended with ${code}`)));
});
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
try {
  for (const [width, colorScheme] of [[1440, 'light'], [360, 'dark']]) await use(width, colorScheme);
} finally {
  await browser.close();
  server.kill();
}
if (faults.length) {
  console.error(faults.join('\n'));
  process.exit(1);
}

async function use(width, colorScheme) {
  const fault = (what) => faults.push(`served page at ${width} pixels: ${what}`);
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, reducedMotion: 'reduce' });
  const page = await context.newPage();
  let expected = 0; // statuses of 4xx that the page asks for, and shows
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type())) return;
    if (/status of 4\d\d/.test(message.text()) && expected > 0) { expected -= 1; return; }
    fault(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => fault(`script: ${error.message}`));
  page.on('request', (request) => { if (!request.url().startsWith(url) && !request.url().startsWith('data:')) fault(`asks for ${request.url()}`); });
  await page.goto(url);
  const text = page.locator('#text');
  await page.waitForFunction(() => document.querySelector('#text').value.includes('[volume.mail]'));

  // a fault in place, and a completion
  const whole = await text.inputValue();
  await text.fill(whole.replace('encoding = "1-of-3"', 'encodng = "1-of-3"'));
  await page.waitForSelector('#faults button');
  if (!(await page.locator('#faults').textContent()).includes('did you mean `encoding`?')) fault('the fault says no nearest name');
  if (await page.locator('#marks mark').first().textContent() !== 'encodng') fault('the fault is not marked where it stands');
  if (!await page.locator('#run').isDisabled()) fault('a wrong scenario can be run');
  await text.fill(`${whole}\nwarm`.replace(/[\s\S]*(?=\nwarm$)/, ''));
  await text.press('Control+Space');
  if (!(await page.locator('#words').textContent()).startsWith('warmup')) fault('`warm` is not completed');
  await page.keyboard.press('Enter');
  if (!(await text.inputValue()).includes('warmup = ')) fault('the completion is not taken');

  // a run with progress
  await text.fill(whole.replace('warmup   = "60 s"', 'warmup   = "5 s"').replace('duration = "60 s"', 'duration = "20 s"'));
  await page.waitForFunction(() => document.querySelector('#faults').children.length === 0 && !document.querySelector('#run').disabled);
  await page.fill('#title', `at ${width}`);
  await page.click('#run');
  await page.waitForSelector(`.run:has-text("at ${width}") button:has-text("Ask")`, { timeout: 60_000 });
  await page.click(`.run:has-text("at ${width}") button:has-text("Ask")`);
  await page.waitForSelector('#answer table');

  // a slider asks; what the fast model refuses is 422
  expected = 60;
  const slider = page.locator('#sliders input').first();
  await slider.focus();
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() => document.querySelector('#changes').textContent.includes('outstanding='));
  await page.waitForFunction(() => document.querySelector('#answer').textContent.includes('By the model replay'), undefined, { timeout: 60_000 });
  await page.click('#curve');
  await page.waitForSelector('#plot canvas', { timeout: 60_000 });
  await page.waitForFunction(() => !document.querySelector('#curve').disabled, undefined, { timeout: 120_000 });
  const colours = await page.evaluate(() => {
    const canvas = document.querySelector('#plot canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const seen = new Set();
    for (let at = 0; at < data.length && seen.size < 8; at += 4) seen.add(data.slice(at, at + 4).join());
    return seen.size;
  });
  if (colours < 8) fault('the load curve is blank');
  if (!/requests\/s/.test(await page.locator('#knee').textContent())) fault('the knee is not said');
  await page.fill('#number', '500');
  await page.click('#trace');
  await page.waitForSelector('#path table');

  // a report of it
  await page.check(`.run:has-text("at ${width}") input`);
  const [report] = await Promise.all([context.waitForEvent('page'), page.click('#compare')]);
  const wrong = [];
  report.on('pageerror', (error) => wrong.push(error.message));
  await report.waitForFunction(() => Number(document.documentElement.dataset.drawn) > 0, undefined, { timeout: 20_000 }).catch(() => fault('the report draws no charts'));
  wrong.forEach((error) => fault(`report: ${error}`));
  await report.close();

  // the address brings the scenario back
  const address = page.url();
  const again = await context.newPage();
  await again.goto(address);
  await again.waitForFunction(() => document.querySelector('#text').value.includes('"20 s"'), undefined, { timeout: 5_000 }).catch(() => fault('the address does not bring the scenario back'));
  await again.close();

  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  if (wide > width) fault(`it is ${wide} pixels wide`);
  const places = await page.evaluate(() => {
    document.activeElement?.blur();
    const all = [...document.querySelectorAll('button, select, input, a[href], textarea, [tabindex="0"]')].filter((one) => one.checkVisibility() && !one.disabled);
    all.forEach((one, index) => { one.dataset.stop = index; });
    return all.length;
  });
  const reached = new Set();
  for (let step = 0; step < places + 40 && reached.size < places; step += 1) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(() => document.activeElement?.dataset.stop);
    if (stop !== undefined) reached.add(stop);
  }
  if (reached.size < places) fault(`the keyboard reaches ${reached.size} of ${places} places`);
  const old = await context.newCDPSession(page);
  await old.send('Page.setBypassCSP', { enabled: true });
  await page.evaluate(axe).catch((error) => fault(`axe: ${error.message}`));
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  for (const violation of violations.filter(({ impact }) => ['serious', 'critical'].includes(impact))) {
    fault(`axe: ${violation.id}: ${violation.help}: ${violation.nodes.slice(0, 2).map((node) => node.html.slice(0, 120)).join(' | ')}`);
  }
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.screenshot({ path: `shots/served-${width}.png`, fullPage: true });
  await context.close();
  console.log(`served page at ${width} pixels: ${reached.size} stops of the keyboard`);
}
