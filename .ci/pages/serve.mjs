// Uses the served page in headless Chromium as people do: a fault is shown in place, a run makes progress, a slider
// asks, a curve is drawn, the path of a request is shown; nothing is loaded from elsewhere, nothing fails, the keyboard
// reaches all, and axe-core finds no serious fault.
// A sweep is followed while it runs.
//   node serve.mjs FORETELL DIR SWEEP
import { spawn } from 'node:child_process';
import { isDrawn, isUsable, launch, watch } from './common.mjs';

const [program, directory, sweep] = process.argv.slice(2);
let sweeping = null;
const faults = [];
const server = spawn(program, ['serve', directory, '--port', '0']);
const url = await new Promise((found, failed) => {
  server.stdout.on('data', (data) => { const at = /http:\S+/.exec(String(data)); if (at) found(at[0]); });
  server.on('exit', (code) => failed(new Error(`the server ended with ${code}`)));
});
const browser = await launch();
try {
  for (const [width, colorScheme] of [[1440, 'light'], [360, 'dark']]) await use(width, colorScheme);
} finally {
  await browser.close();
  server.kill();
  sweeping?.kill();
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
  const isKnown = (text) => {
    const is = /status of 4\d\d/.test(text) && expected > 0;
    if (is) expected -= 1;
    return is;
  };
  watch(page, fault, (asked) => asked.startsWith(url) || asked.startsWith('data:'), isKnown);
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
  // questions that a slider or a chosen run asks are over when the replay has answered
  const asking = async (what) => {
    await page.evaluate(() => document.querySelector('#answer').replaceChildren());
    await what();
    await page.waitForFunction(() => document.querySelector('#answer').textContent.includes('By the model replay'), undefined, { timeout: 60_000 });
  };
  const run = async (title, scenario) => {
    await text.fill(scenario);
    await page.waitForFunction(() => document.querySelector('#faults').children.length === 0 && !document.querySelector('#run').disabled);
    await page.fill('#title', title);
    await page.click('#run');
    await page.waitForSelector(`.run:has-text("${title}") button:has-text("Ask")`, { timeout: 60_000 });
    await asking(() => page.click(`.run:has-text("${title}") button:has-text("Ask")`));
  };
  const short = whole.replace('warmup   = "60 s"', 'warmup   = "5 s"').replace('duration = "60 s"', 'duration = "20 s"');
  // what the fast model refuses is 422
  expected = 60;
  await run(`at ${width}`, short);

  // a slider asks
  const slider = page.locator('#sliders input').first();
  await slider.focus();
  await asking(() => page.keyboard.press('ArrowRight'));
  if (!(await page.locator('#changes').textContent()).includes('outstanding=')) fault('the slider changes nothing');
  const curve = async (path) => {
    const models = [];
    const hear = (request) => { if (request.url().endsWith('/ask')) models.push(request.postDataJSON().model); };
    await page.selectOption('#curve-of', path);
    page.on('request', hear);
    await page.click('#curve');
    await page.waitForFunction(() => !document.querySelector('#curve').disabled, undefined, { timeout: 180_000 });
    page.off('request', hear);
    if (!await isDrawn(page, '#plot canvas')) fault(`the load curve of ${path} is blank`);
    // what the fast model refuses once, the replay answers from the beginning
    if (String(models) !== String([...models].sort())) fault(`the points of the load curve of ${path} are of several models: ${models}`);
    const words = await page.locator('#knee').textContent();
    if (!words.includes(`All points are answers of the model ${models.at(-1)}`)) fault(`the load curve of ${path} says no model: ${words}`);
    return words;
  };
  if (!/requests\/s/.test(await curve('workload.mail.outstanding'))) fault('the knee is not said');
  await page.fill('#number', '500');
  await page.click('#trace');
  await page.waitForSelector('#path table');

  // an open load: the curve ends where it is more than the cluster can do
  if (width === 1440) {
    await run('open', short.replace('outstanding = 4\n\n[tracking]', 'arrivals = "poisson"\nrate = "60 /s"\n\n[tracking]'));
    const words = await curve('workload.web.rate');
    if (!/^The knee is at .* The curve ends before .* web is in overload/.test(words)) fault(`the open load curve says: ${words}`);
    await page.locator('#plot').screenshot({ path: 'shots/served-open-curve.png' });
  }

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

  // a sweep that another process makes: at first it is under way, and it ends while the page looks on
  if (width === 1440) sweeping = spawn(program, ['sweep', sweep, '-o', `${directory}/grid`, '--jobs', '1'], { stdio: 'ignore' });
  const grid = '#sweep-list .run[data-id="grid"]';
  await page.waitForSelector(grid, { timeout: 60_000 });
  if (width === 1440 && !/ of 12 runs/.test(await page.locator(grid).textContent())) fault('the sweep is not seen under way');
  await page.click(`${grid} button:has-text("Explore")`);
  await page.selectOption('#sweep-x', 'encoding');
  await page.selectOption('#sweep-y', 'mail_throughput_rps');
  await page.waitForFunction((grid) => /12 runs/.test(document.querySelector(grid).textContent) && !document.querySelector(`${grid} progress`), grid, { timeout: 120_000 })
    .catch(() => fault('the end of the sweep is not seen'));
  await page.waitForFunction(() => document.querySelector('#points-said').textContent.startsWith('Each of the 12 points'), undefined, { timeout: 20_000 })
    .catch(() => fault('the chart does not follow the sweep'));
  if (!await isDrawn(page, '#points canvas')) fault('the chart of the sweep is blank');
  const [explorer] = await Promise.all([context.waitForEvent('page'), page.click(`${grid} button:has-text("Report")`)]);
  await explorer.waitForFunction(() => Number(document.documentElement.dataset.drawn) > 0, undefined, { timeout: 20_000 }).catch(() => fault('the report of the sweep draws no charts'));
  await explorer.close();

  // axe-core is not the page's own script
  await (await context.newCDPSession(page)).send('Page.setBypassCSP', { enabled: true });
  const places = await isUsable(page, width, fault, 'button, select, input, a[href], textarea, [tabindex="0"]');
  await page.screenshot({ path: `shots/served-${width}.png`, fullPage: true });
  await context.close();
  console.log(`served page at ${width} pixels: ${places} stops of the keyboard`);
}
