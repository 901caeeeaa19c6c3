/**
 * Takes the pictures of the dashboard for the documentation: real instances, run by the real
 * runtime, in a headless Chromium (`CHROMIUM_PATH`, or `chromium` on the PATH).
 *
 *     npm run screenshots              writes docs/screenshots/*.png
 *     npm run screenshots -- --serve   leaves the dashboard open instead
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { startDashboard } from '../src/dashboard/index.js';
import { findChromium, launchOptions } from './chromium.js';
import { openStage } from './dashboard-stage.js';

const TARGET = path.join(import.meta.dirname, '..', 'docs', 'screenshots');
const WIDE = { width: 1280, height: 860 };
const PHONE = { width: 390, height: 844 };

console.log('An hour in the life of a shop …');
const stage = await openStage();
const dashboard = await startDashboard({ provider: stage.provider, port: process.argv.includes('--serve') ? 4600 : 0 });
if (process.argv.includes('--serve')) {
  console.log(`The dashboard is at ${dashboard.url} (Ctrl+C ends it)`);
} else {
  await takeAll();
  await dashboard.close();
  await stage.close();
}

async function takeAll(): Promise<void> {
  await mkdir(TARGET, { recursive: true });
  const executablePath = await findChromium();
  if (executablePath === undefined) throw new Error('no Chromium: install it, or name it in CHROMIUM_PATH');
  const browser = await chromium.launch({ ...launchOptions, executablePath });
  const page = await browser.newPage({ viewport: WIDE });
  const ids = await interesting();
  await take(page, 'overview', '');
  await take(page, 'instances', 'instances');
  await take(page, 'schedules', 'schedules');
  await page.goto(`${dashboard.url}queues`);
  await page.getByText('3 keys').first().click();
  await shoot(page, 'queues');
  await take(page, 'instance', `instance?id=${ids.retried}`);
  await take(page, 'history', `instance?id=${ids.retried}&tab=history&event=8`);
  await page.goto(`${dashboard.url}instance?id=${ids.waiting}`);
  await page.getByRole('button', { name: 'Raise event' }).click();
  await page.getByLabel('Data, as JSON').fill('{ "driver": "K. Okafor" }');
  await shoot(page, 'raise-event');
  await page.close();

  const dark = await browser.newPage({ viewport: WIDE, colorScheme: 'dark' });
  await take(dark, 'overview-dark', '');
  await take(dark, 'instance-dark', `instance?id=${ids.waiting}`);
  await dark.close();

  const phone = await browser.newPage({ viewport: PHONE, isMobile: true, hasTouch: true });
  await take(phone, 'phone-instances', 'instances');
  await take(phone, 'phone-instance', `instance?id=${ids.waiting}`);
  await browser.close();
}

/** Instances worth a picture: one that was retried and completed, one that waits for an event. */
async function interesting(): Promise<{ retried: string; waiting: string }> {
  const admin = stage.provider.asManagement();
  const page = async (status: string) =>
    (await admin.listInstancesPage({ status, name: 'Fulfil', limit: 50 })).instances.map(
      ({ instanceId }) => instanceId,
    );
  const retried = (await page('Completed')).find((id) => Number(id.split('-')[1]) % 5 === 3);
  const running = await page('Running');
  const waiting = running.at(-1);
  if (!retried || !waiting) throw new Error('the shop had too quiet an hour; run it again');
  return { retried, waiting };
}

async function take(page: Page, name: string, where: string): Promise<void> {
  await page.goto(dashboard.url + where);
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
  await page.evaluate('document.fonts.ready');
  await shoot(page, name);
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: path.join(TARGET, `${name}.png`), animations: 'disabled' });
  console.log(`${name}.png`);
}
