import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Browser } from '../browser/browser';

/**
 * One reader's whole evening, against the server at COVEL_URL (`make test-e2e` starts one).
 * Everything is found by role and label, so that it plays in any world, with any model.
 */

const TURN = { timeout: 90_000, interval: 100 };
let browser: Browser;
let url: string;

beforeAll(async () => {
  url = process.env['COVEL_URL'] ?? '';
  if (url === '') throw new Error('COVEL_URL names no server; run make test-e2e');
  browser = await Browser.open();
});
afterAll(async () => {
  await browser.close();
});

const story = (page: Page): Locator => page.getByRole('region', { name: 'Story' });
const input = (page: Page): Locator => page.getByRole('textbox', { name: 'What do you do or say?' });
const articles = (page: Page): Locator => story(page).getByRole('article');
const stop = (page: Page): Locator => page.getByRole('button', { name: 'Stop', exact: true });
const failure = (page: Page): Locator => page.getByRole('button', { name: 'Try again' });

/** The story as it is read: every paragraph of every article, in order. */
const text = (page: Page): Promise<string[]> => articles(page).allInnerTexts();

/** The turn is over, and it committed. */
async function settled(page: Page): Promise<void> {
  await expect
    .poll(
      async () =>
        (await stop(page).count()) === 0 && (await story(page).locator('[aria-busy=true]').count()) === 0,
      TURN,
    )
    .toBe(true);
  expect(await failure(page).count(), await text(page).then((t) => t.join('\n'))).toBe(0);
}

async function send(page: Page, line: string): Promise<void> {
  await input(page).fill(line);
  await input(page).press('Enter');
  await story(page).getByText(line, { exact: true }).waitFor();
}

/** Sends a line and reads the answer: something that was not there before, after the line. */
async function turn(page: Page, line: string): Promise<void> {
  const before = await articles(page).count();
  await send(page, line);
  await expect.poll(() => articles(page).count(), TURN).toBeGreaterThan(before + 1);
  await settled(page);
}

/** Fills in whatever the world asks, in the order of its fields, and sends it. */
async function answerForm(page: Page): Promise<void> {
  const form = page.getByRole('form');
  await form.waitFor({ timeout: 90_000 });
  for (const box of await form.getByRole('textbox').all()) {
    if ((await box.inputValue()) === '') await box.fill('陆青云');
  }
  for (const box of await form.getByRole('combobox').all()) {
    if ((await box.inputValue()) === '') await box.selectOption({ index: 1 });
  }
  await form.getByRole('button').last().click();
  await form.waitFor({ state: 'detached', timeout: 90_000 });
}

describe.sequential('an evening', () => {
  let page: Page;

  it('begins: the page, a world, its form, the opening', async () => {
    page = await browser.page(url);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.getByRole('list').last().getByRole('link').first().click();
    await page.getByRole('button', { name: 'Begin the story' }).click();
    await page.waitForURL('**/sessions/*');
    await answerForm(page);
    await settled(page);
    expect((await text(page)).join('').length).toBeGreaterThan(200);
    expect((await text(page)).join('\n')).toContain('陆青云');
  });

  it('goes on: two lines, two answers', async () => {
    await turn(page, 'I look around carefully and listen.');
    await turn(page, 'I ask the nearest person what happened here.');
  });

  it('survives a reload: the same story', async () => {
    const before = await text(page);
    await page.reload();
    await expect.poll(() => text(page), TURN).toEqual(before);
  });

  it('goes back and forth: a page is taken back, laid open again, told anew', async () => {
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
    const whole = await text(page);
    await press('Take it back');
    await expect.poll(() => text(page), TURN).toEqual(whole.slice(0, -2));
    await press('Lay it open again');
    await expect.poll(() => text(page), TURN).toEqual(whole);
    await press('Tell it anew');
    await page.getByText('Version 2 of 2').waitFor(TURN);
    await settled(page);
    const anew = await text(page);
    expect(anew.slice(0, -1)).toEqual(whole.slice(0, -1));
    expect(anew.at(-1)).not.toBe(whole.at(-1));
    await press('Version before');
    await expect.poll(() => text(page), TURN).toEqual(whole);
    await press('Version after');
    await expect.poll(() => text(page), TURN).toEqual(anew);
  });

  it('is on the shelf to go on with', async () => {
    const address = page.url();
    await page.getByRole('link', { name: 'All stories' }).click();
    await page.getByRole('heading', { name: 'Go on reading' }).waitFor();
    await page.getByRole('list').first().getByRole('link').first().click();
    await expect.poll(() => page.url()).toBe(address);
    await articles(page).first().waitFor();
  });

  it('is seen by a second tab as it streams', async () => {
    const other = await browser.page(page.url());
    await expect.poll(() => text(other), TURN).toEqual(await text(page));
    const line = 'I wait and count to ten.';
    await send(page, line);
    await story(other).getByText(line, { exact: true }).waitFor();
    // Asked and read in one go, in the page: a moment later it may be committed.
    const streaming = await other.waitForFunction(
      () => document.querySelector<HTMLElement>('article[aria-busy=true]')?.innerText.trim().slice(0, 8),
      undefined,
      { timeout: TURN.timeout },
    );
    const begun = (await streaming.jsonValue()) ?? '';
    await settled(page);
    await settled(other);
    expect((await text(other)).join('\n')).toContain(begun);
    await expect.poll(() => text(other), TURN).toEqual(await text(page));
    await other.close();
  });

  it('bears a line that breaks in mid-answer, again and again', async () => {
    // The page's sockets, so that they can be cut from within; what the page does about it is its own.
    const cut = await browser.page('about:blank');
    await cut.addInitScript(() => {
      const sockets: WebSocket[] = [];
      const Real = WebSocket;
      Object.assign(window, {
        cut: () => {
          for (const s of sockets.splice(0)) s.close();
        },
        WebSocket: class extends Real {
          constructor(address: string | URL) {
            super(address);
            sockets.push(this);
          }
        },
      });
    });
    await cut.goto(page.url());
    await expect.poll(() => text(cut), TURN).toEqual(await text(page));
    const before = await articles(cut).count();
    const line = 'I walk on, slowly, along the wall.';
    await send(cut, line);
    for (let i = 0; i < 4; i++) {
      await cut.evaluate(() => (window as unknown as { cut: () => void }).cut());
      await cut.waitForTimeout(250);
    }
    await expect.poll(() => articles(cut).count(), TURN).toBeGreaterThan(before + 1);
    await settled(cut);
    await settled(page);
    await expect.poll(() => text(cut), TURN).toEqual(await text(page));
    expect((await text(cut)).filter((t) => t.includes(line))).toHaveLength(1);
    await cut.reload();
    await expect.poll(() => text(cut), TURN).toEqual(await text(page));
  });

  it('had nothing to complain about', () => {
    expect(browser.complaints).toEqual([]);
  });
});
