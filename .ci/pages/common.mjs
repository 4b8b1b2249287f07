// What all checks of pages have in common.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const launch = () => chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});

/** Faults of a page's scripts, and requests that it may not make. `isKnown`: messages of the console to ignore. */
export function watch(page, fault, mayLoad, isKnown = () => false) {
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !isKnown(message.text())) fault(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => fault(`script: ${error.message}`));
  page.on('request', (request) => { if (!mayLoad(request.url())) fault(`asks for ${request.url()}`); });
}

/** When a page was first painted, ms after it was asked for. A page may be loaded before it is painted. */
export async function firstPaint(page) {
  const entry = () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
  await page.waitForFunction(entry, null, { timeout: 20_000 }).catch(() => {});
  return page.evaluate(entry);
}

/** Whether a canvas shows something: a blank one has one colour. */
export const isDrawn = (page, selector) => page.evaluate((wanted) => {
  const canvas = document.querySelector(wanted);
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const colours = new Set();
  for (let at = 0; at < data.length && colours.size < 8; at += 4) colours.add(data.slice(at, at + 4).join());
  return colours.size >= 8;
}, selector);

/** The page is no wider than its window, the keyboard reaches each visible place, and axe-core finds no serious fault.
 * Returns how many places there are. */
export async function isUsable(page, width, fault, places) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  if (wide > width) fault(`it is ${wide} pixels wide`);
  const wanted = await page.evaluate((selector) => {
    document.activeElement?.blur();
    window.scrollTo(0, 0);
    const all = [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility() && !one.disabled && !one.closest('details:not([open]) > :not(summary)'));
    // of radio buttons one is a stop
    const stops = all.filter((one) => one.type !== 'radio' || one.checked);
    stops.forEach((one, index) => { one.dataset.stop = index; });
    return stops.length;
  }, places);
  const reached = new Set();
  for (let step = 0; step < wanted + 40 && reached.size < wanted; step += 1) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(() => document.activeElement?.dataset.stop);
    if (stop !== undefined) reached.add(stop);
  }
  if (reached.size < wanted) {
    const left = await page.evaluate((seen) => [...document.querySelectorAll('[data-stop]')].filter((one) => !seen.includes(one.dataset.stop)).slice(0, 3).map((one) => one.outerHTML.slice(0, 90)), [...reached]);
    fault(`the keyboard reaches ${reached.size} of ${wanted} places; not ${left.join(' nor ')}`);
  }
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  for (const violation of violations.filter(({ impact }) => ['serious', 'critical'].includes(impact))) {
    fault(`axe: ${violation.id}: ${violation.help}: ${violation.nodes.slice(0, 2).map((node) => node.html.slice(0, 120)).join(' | ')}`);
  }
  await page.evaluate(() => window.scrollTo(0, 0));
  return wanted;
}
