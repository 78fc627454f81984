import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { AxeResults } from 'axe-core';
import type { MockServer } from '../mock/server';
import type { MockSession } from '../mock/session';
import type { Browser } from './browser';

/** What a reader does and sees, by role and label. */

const pictures = join(import.meta.dirname, '../screenshots');
mkdirSync(pictures, { recursive: true });
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A picture of a state, to be looked at: tests/screenshots/NAME.png. */
export async function picture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

/** No violation of any rule of axe-core, in the state the page is in. */
export async function accessible(page: Page): Promise<void> {
  // A transition that has not come to rest has the contrast of neither end.
  await page.evaluate(() =>
    Promise.all(
      document
        .getAnimations()
        .filter((a) => a.effect?.getComputedTiming().iterations !== Infinity)
        .map((a) => a.finished.catch(() => undefined)),
    ),
  );
  await page.evaluate(axe);
  const results = await page.evaluate(() =>
    (window as unknown as { axe: { run: () => Promise<AxeResults> } }).axe.run(),
  );
  expect(
    results.violations.map(
      (v) => `${v.id}: ${v.nodes.map((n) => `${n.target.join(' ')} ${n.failureSummary ?? ''}`).join(' | ')}`,
    ),
  ).toEqual([]);
}

/** Nothing sticks out at the side: a phone never scrolls sideways. */
export async function fits(page: Page): Promise<void> {
  const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  expect(wide).toBeLessThanOrEqual(window);
}

export const story = (page: Page): Locator => page.getByRole('region', { name: /^(Story|故事)$/ });
export const input = (page: Page): Locator =>
  page.getByRole('textbox', { name: /What do you do or say|你要做什么，或说什么/ });
export const stop = (page: Page): Locator => page.getByRole('button', { name: /^(Stop|停止)$/ });

export async function say(page: Page, text: string): Promise<void> {
  await input(page).fill(text);
  await input(page).press('Enter');
}

/** Waits until nothing runs. */
export async function rest(page: Page): Promise<void> {
  await expect.poll(() => stop(page).count()).toBe(0);
}

/** A session whose form is filled in and whose opening is read. */
export async function begun(
  server: MockServer,
  browser: Browser,
  locale = 'en',
): Promise<{ page: Page; session: MockSession }> {
  const session = server.create('lanternreach', locale);
  session.begin(locale === 'en' ? 'Élodie' : '陆青云');
  const page = await browser.page(`${server.url}/sessions/${session.id}`);
  await guide(page, session).waitFor();
  return { page, session };
}

/** The first suggestion of the guide: there when a page of the story is finished. */
export function guide(page: Page, session: MockSession): Locator {
  return page.getByRole('button', { name: session.telling.guide.suggestions[0]!.text });
}

/** What the bar says when the line to the server is lost. */
export const lost = (page: Page): Locator =>
  page.getByText('The connection is gone.', { exact: false }).and(page.locator('.bar p'));

/** Brings the line back. The page tries by itself as well, and may be there before the button is pressed. */
export async function reconnect(server: MockServer, page: Page): Promise<void> {
  server.socketsDown = false;
  const back = lost(page).waitFor({ state: 'detached' });
  const pressed = page.getByRole('button', { name: 'Try now' }).click();
  await Promise.race([pressed.catch(() => undefined), back]);
  await back;
}
