import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { findChromium, launchOptions } from '../../scripts/chromium.js';
import { type Clock, sleepReal } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { startDashboard, type RunningDashboard } from '../../src/dashboard/start-dashboard.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { declareOrchestration } from '../../src/typed/definitions.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';
import { register } from '../support/runtime-harness.js';
import { waitFor } from '../support/waiting.js';

const executablePath = await findChromium();
const describeBrowser = executablePath === undefined ? describe.skip : describe;
const reason = executablePath === undefined ? ' (skipped: no Chromium on the PATH nor in CHROMIUM_PATH)' : '';

const TOKEN = 'a-token-of-32-characters-for-you';
/** Breaks out of text, of attributes, of comments and of scripts, and says so. */
const EVIL = `"'><img src=x onerror="window.xss=1"><script>window.xss=1</script>`;

const waits = declareOrchestration('Waits');

const HURRY = 5;
/** Paces the looks of the dashboard: a page would wait a second, or five, for what has happened already. */
const hurried: Clock = {
  nowMs: () => Math.floor(performance.now() * HURRY),
  sleep: (ms, signal) => sleepReal(ms / HURRY, signal),
};

describeBrowser(`in a browser${reason}`, () => {
  let provider: DrizzleProvider;
  let runtime: Runtime;
  let client: Client;
  let dashboard: RunningDashboard;
  let browser: Browser;
  /** One for all tests but those that need another window: files and compiled scripts stay in its cache. */
  let context: BrowserContext;
  let page: Page;
  /** What the page complained about: scripts that failed, files that the policy refused. */
  let complaints: string[];
  const schema = uniqueSchema('browser');
  let flaky = 0;

  beforeAll(async () => {
    provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
    runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off' });
    client = new Client(provider);
    register(runtime, {
      activities: {
        Reserve: () => ({ reserved: true }),
        Flaky: () => {
          flaky++;
          if (flaky < 3) throw new Error('gateway closed');
          return 'charged';
        },
        Declined: () => {
          throw new Error('card declined');
        },
        [`Act ${EVIL}`]: () => {
          throw new Error(`error ${EVIL}`);
        },
      },
      orchestrations: {
        *Order(ctx, input: unknown) {
          ctx.setCustomStatus('reserving');
          ctx.setValue('input', JSON.stringify(input));
          yield ctx.scheduleActivity('Reserve');
          yield ctx.scheduleActivityWithRetry('Flaky', 1, { maxAttempts: 5, backoff: 'linear' });
          ctx.setCustomStatus('waiting for approval');
          const approval: unknown = yield ctx.waitForEvent('approved');
          return { approval };
        },
        *Fails(ctx) {
          yield ctx.scheduleActivity('Declined', { card: 1 });
        },
        *Waits(ctx) {
          yield ctx.waitForEvent('never');
        },
        *Big() {
          return { text: 'long '.repeat(2_000) };
        },
        [`Orch ${EVIL}`]: function* (ctx, input: unknown) {
          ctx.setCustomStatus(`status ${EVIL}`);
          ctx.setValue(`key ${EVIL}`, `value ${EVIL}`);
          yield ctx.race(ctx.waitForEvent(`event ${EVIL}`), ctx.scheduleTimer(1));
          yield ctx.scheduleActivity(`Act ${EVIL}`, input);
        },
      },
    });
    await runtime.start();
    dashboard = await startDashboard({ provider, port: 0, clock: hurried, logger: silentLogger });
    browser = await chromium.launch({ ...launchOptions, ...(executablePath === undefined ? {} : { executablePath }) });
    context = await newContext();
    await client.startOrchestration('order-1', 'Order', { customer: 'mira' });
    await client.startOrchestration('failed-1', 'Fails');
    await client.startOrchestration('waits-1', 'Waits');
    await client.startOrchestration('big-1', 'Big');
    await client.waitForOrchestration('failed-1');
    await client.waitForOrchestration('big-1');
  });
  afterAll(async () => {
    await browser.close();
    await dashboard.close();
    await runtime.shutdown(1_000);
    await provider.close();
    await dropSchema(schema);
  });
  beforeEach(async () => {
    complaints = [];
    page = await open(context);
  });
  afterEach(async () => {
    expect(await page.evaluate('window.xss')).toBeUndefined();
    await page.close();
    expect(complaints).toEqual([]);
  });

  const newContext = (options: BrowserContextOptions = {}) =>
    browser.newContext({ reducedMotion: 'reduce', ...options });

  async function open(within: BrowserContext): Promise<Page> {
    const opened = await within.newPage();
    opened.setDefaultTimeout(20_000);
    opened.on('pageerror', (error) => complaints.push(error.message));
    opened.on('console', (message) => {
      if (message.type() === 'error' && /policy|Uncaught/i.test(message.text())) complaints.push(message.text());
    });
    return opened;
  }
  const go = (path = '', url = dashboard.url) => page.goto(url + path);
  const openInstance = (id: string, more = '') => go(`instance?id=${encodeURIComponent(id)}${more}`);
  const shown = (text: string | RegExp) => page.getByText(text).first().waitFor();
  const widthFits = async () =>
    expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0);

  test('the overview shows counts, the chart, failures and the worker', async () => {
    await go();
    await page.getByRole('img', { name: /Instances started/ }).waitFor();
    await page.locator('.chart canvas').waitFor();
    expect(await page.locator('.stat.running .stat-value').innerText()).toBe('2');
    await page.getByRole('link', { name: 'failed-1' }).click();
    await page.getByRole('heading', { name: 'failed-1' }).waitFor();
  });

  test('list, filter, find by the beginning of the id, open', async () => {
    await go('instances');
    await page.getByRole('link', { name: 'waits-1' }).waitFor();
    await page.getByRole('button', { name: 'Failed' }).click();
    await page.getByRole('link', { name: 'waits-1' }).waitFor({ state: 'detached' });
    await shown('card declined');
    expect(page.url()).toContain('status=Failed');
    await page.getByRole('button', { name: 'All' }).click();
    await page.getByRole('searchbox', { name: /begins with/ }).fill('order-');
    await page.getByRole('link', { name: 'waits-1' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'order-1' }).click();
    await page.getByRole('heading', { name: 'order-1' }).waitFor();
    await page.goBack();
    expect(await page.getByRole('searchbox', { name: /begins with/ }).inputValue()).toBe('order-');
    await page.getByRole('searchbox', { name: /begins with/ }).fill('no such');
    await shown('No instance matches');
    await page.getByRole('button', { name: 'Clear the filters' }).click();
    await page.getByRole('link', { name: 'waits-1' }).waitFor();
  });

  test('time line with retries, raise an event, and see the instance finish', async () => {
    await openInstance('order-1');
    await shown('waiting for approval');
    await page.getByText('3 attempts').waitFor();
    const bars = page.locator('.lane.activity', { hasText: 'Flaky' }).locator('.track button');
    expect(await Promise.all((await bars.all()).map((bar) => bar.getAttribute('class')))).toEqual([
      'bar failed',
      'bar failed',
      'bar ok',
    ]);
    await bars.first().click();
    await shown('gateway closed');

    await page.getByRole('button', { name: 'Raise event' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByLabel('Event', { exact: true }).inputValue()).toBe('approved');
    await dialog.getByLabel('Data, as JSON').fill('{ by: boss }');
    expect(await dialog.getByRole('button', { name: 'Raise' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Data, as JSON').fill('{ "by": "the boss" }');
    await dialog.getByRole('button', { name: 'Raise' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.locator('.instance-head .badge.completed').waitFor();
    await page.locator('.ends').getByText('"the boss"').waitFor();
    expect(await client.getStatus('order-1')).toMatchObject({ status: 'Completed' });
    expect(await page.getByRole('button', { name: 'Raise event' }).count()).toBe(0);
  });

  test('cancel asks first; closing the question changes nothing', async () => {
    await openInstance('waits-1');
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await client.getStatus('waits-1')).toMatchObject({ status: 'Running' });
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page
      .getByRole('dialog')
      .getByLabel(/Reason/)
      .fill('a good reason');
    await page.getByRole('button', { name: 'Cancel the instance' }).click();
    await page.locator('.instance-head .badge.failed').waitFor();
    await page.locator('.ends').getByText('canceled: a good reason').waitFor();
  });

  test('retry of a failed instance says from where; delete asks twice', async () => {
    await client.startOrchestration('failed-2', 'Fails');
    await client.waitForOrchestration('failed-2');
    await openInstance('failed-2');
    await page.getByRole('button', { name: 'Retry' }).click();
    await shown('activity Declined');
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click();
    await shown('It runs again');
    await waitFor('the activity runs again', async () => (await client.getStatus('failed-2')).status === 'Failed');
    await page.getByRole('button', { name: 'Delete' }).click();
    const deletion = page.getByRole('button', { name: 'Delete for ever' });
    expect(await deletion.isDisabled()).toBe(true);
    await page.getByLabel(/Yes, delete it/).check();
    await deletion.click();
    await page.getByRole('heading', { name: 'Instances' }).waitFor();
    expect(await client.getStatus('failed-2')).toMatchObject({ status: 'NotFound' });
  });

  test('a schedule is paused after a question, and what a runtime says of one is shown as text', async () => {
    const id = `nightly ${EVIL}`;
    await client.schedules.create({ id, orchestration: 'Waits', cron: '0 2 * * *', timeZone: 'Europe/Berlin' });
    await go('schedules');
    await shown('0 2 * * * Europe/Berlin');
    await page.getByRole('button', { name: `Pause ${id}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.locator('.schedules .badge.other').getByText('Paused').waitFor();
    expect(await client.schedules.get(id)).toMatchObject({ isPaused: true });
    await client.schedules.delete(id);
    await shown('No schedule yet');
  });

  test('a queue shows its limits, what waits by keys, and is paused after a question', async () => {
    const id = `mails ${EVIL}`;
    await client.startQueues.create({ id, concurrency: 1, concurrencyPerKey: 1 });
    for (const n of [1, 2, 3]) await client.start(waits, undefined, { id: `mail-${n}`, queue: id, key: `key ${EVIL}` });
    await waitFor('one is admitted', async () => (await client.startQueues.get(id)).running === 1);
    await go('queues');
    await shown('1 at once · 1 at once per key');
    await page.getByText('1 key', { exact: true }).click();
    await shown(/^1 running · 2 waiting · oldest \d+ /);
    await page.getByRole('button', { name: `Pause ${id}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.locator('.queues .badge.other').getByText('Paused').waitFor();
    expect(await client.startQueues.get(id)).toMatchObject({ isPaused: true });
    await client.startQueues.delete(id, { waiting: 'discard' });
    await shown('No start queue yet');
  });

  test('a long output is cut and can be downloaded whole', async () => {
    await openInstance('big-1');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page
        .getByRole('link', { name: /Download the whole/ })
        .first()
        .click(),
    ]);
    expect(download.suggestedFilename()).toBe('output.json');
  });

  test('nothing that a user can name or write becomes markup', async () => {
    const id = `id ${EVIL}`;
    await client.startOrchestration(id, `Orch ${EVIL}`, { input: EVIL });
    await client.waitForOrchestration(id);
    for (const path of ['', 'instances', `instances?id=${encodeURIComponent(EVIL)}&name=${encodeURIComponent(EVIL)}`]) {
      await go(path);
      await page.locator('.skeleton').first().waitFor({ state: 'detached' });
      expect(await page.locator('img[src="x"], #app script').count()).toBe(0);
    }
    await go('instances');
    await page.getByRole('link', { name: id }).click();
    await page.getByRole('heading', { name: id }).waitFor();
    await shown(`status ${EVIL}`);
    for (const [tab, text] of [
      ['Time line', `Act ${EVIL}`],
      ['History', `event ${EVIL}`],
      ['Key–values', `key ${EVIL}`],
    ] as const) {
      await page.getByRole('tab', { name: tab }).click();
      await page.getByRole('tabpanel').getByText(text).first().waitFor();
    }
    await page.getByRole('tab', { name: 'History' }).click();
    for (const summary of await page.locator('.event summary').all()) await summary.click();
    await page.locator('.event-body').getByText('onerror').first().waitFor();
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByRole('dialog').getByText(`activity Act ${EVIL}`).waitFor();
    expect(await page.locator('img[src="x"], #app script').count()).toBe(0);
  });

  test('refused without the token; the token opens the page that was asked for', async () => {
    const guarded = await startDashboard({
      provider,
      port: 0,
      token: TOKEN,
      readOnly: true,
      clock: hurried,
      logger: silentLogger,
    });
    await go('instance?id=waits-1', guarded.url);
    await page.getByLabel('Token').fill('not the token');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await shown('That is not the token');
    await page.getByLabel('Token').fill(TOKEN);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'waits-1' }).waitFor();
    await page.locator('.actions, .title-row .chip-note').first().waitFor();
    expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
    await go(`?token=${TOKEN}`, guarded.url);
    await page.locator('.stat.running').waitFor();
    expect(page.url()).toBe(guarded.url);
    await guarded.close();
  });

  test('an instance that does not exist, and a page that does not', async () => {
    await openInstance('nobody/at?all');
    await shown('Not found');
    await go('nothing');
    await shown('There is no such page');
  });

  test('everything with the keyboard alone', async () => {
    await client.startOrchestration('keys-1', 'Waits');
    await go();
    await page.locator('.stat.running').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('Find an instance').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await page.locator('#find:focus').waitFor();
    await page.keyboard.type('keys-');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'order-1' }).waitFor({ state: 'detached' });
    await page.keyboard.press('Tab');
    await page.locator('.row-link').first().waitFor();
    for (let presses = 0; presses < 20; presses++) {
      if (await page.evaluate('document.activeElement.classList.contains("row-link")')) break;
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'keys-1' }).waitFor();
    await page.getByRole('tab', { name: 'Time line' }).focus();
    await page.keyboard.press('ArrowRight');
    expect(await page.evaluate('document.activeElement.id')).toBe('tab-history');
    await page.getByRole('button', { name: 'Cancel', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page
      .getByRole('dialog')
      .getByLabel(/Reason/)
      .focus();
    await page.keyboard.type('by keyboard');
    await page.keyboard.press('Enter');
    await page.locator('.instance-head .badge.failed').waitFor();
  });

  test('dark as the system or as chosen, and it stays chosen', async () => {
    const ground = () => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    await go();
    const light = await ground();
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await ground();
    expect(dark).not.toBe(light);
    await page.getByRole('button', { name: 'Theme: as the system' }).click();
    expect(await ground()).toBe(light);
    await page.getByRole('button', { name: 'Theme: light' }).click();
    await page.emulateMedia({ colorScheme: 'light' });
    expect(await ground()).toBe(dark);
    await page.reload();
    expect(await ground()).toBe(dark);
    await page.evaluate('localStorage.clear()'); // the others are not meant by that choice
  });

  test('at phone width nothing has to be scrolled sideways', async () => {
    await page.close();
    page = await open(await newContext({ viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }));
    const id = `a-very-long-id-without-a-break-${'x'.repeat(150)}`;
    await client.startOrchestration(id, 'Order', { key: 'y'.repeat(400) });
    await client.schedules.create({ id, orchestration: 'Order', everyMs: 3_600_000 });
    await client.startQueues.create({
      id,
      concurrencyPerKey: 1,
      ratePerKey: { limit: 1, periodMs: 60_000 },
      paused: true,
    });
    await client.start(waits, undefined, { queue: id, key: 'z'.repeat(200) });
    for (const path of ['', 'instances', 'instances?since=24h', 'schedules', 'queues']) {
      await go(path);
      await page.locator('.skeleton').first().waitFor({ state: 'detached' });
      await widthFits();
    }
    for (const tab of ['timeline', 'history', 'family', 'values']) {
      await openInstance(id, `&tab=${tab}`);
      await page.getByRole('heading', { name: id }).waitFor();
      await page.locator('.skeleton').first().waitFor({ state: 'detached' });
      await widthFits();
    }
    await page.getByRole('button', { name: 'Raise event' }).click();
    await page.getByRole('dialog').waitFor();
    await widthFits();
  });

  test('while the database is down the page says so, and recovers by itself', async () => {
    const target = databaseUrl();
    const proxy = await CuttingProxy.open(target);
    const distant = await DrizzleProvider.connect(proxy.url, { schema, logger: silentLogger });
    const other = await startDashboard({ provider: distant, port: 0, clock: hurried, logger: silentLogger });
    await go('instances', other.url);
    await page.getByRole('link', { name: 'failed-1' }).waitFor();
    await proxy.close();
    await page
      .getByText(/database does not answer/)
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'failed-1' }).waitFor(); // what was there stays
    await page.getByRole('link', { name: 'failed-1' }).click();
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    const again = await CuttingProxy.open(target, Number(new URL(proxy.url).port));
    await page.getByRole('heading', { name: 'failed-1' }).waitFor(); // nobody pressed the button
    await page.locator('.live.live').waitFor();
    expect(await page.locator('.banner').count()).toBe(0);
    await other.close();
    await distant.close();
    await again.close();
  });
});
