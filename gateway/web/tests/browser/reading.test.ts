import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MockServer } from '../mock/server';
import { Browser } from './browser';
import { accessible, begun, guide, picture, rest, say, story } from './reader';

/** The page as something to read in: nothing jumps, the place is the reader's, a long story stays light. */

const server = new MockServer();
let browser: Browser;

beforeAll(async () => {
  await server.start();
  browser = await Browser.open();
});
afterAll(async () => {
  await browser.close();
  await server.stop();
});
beforeEach(() => {
  server.reset();
});

const top = (page: Page) => story(page).evaluate((e) => Math.round(e.scrollTop));
const toEnd = (page: Page) =>
  story(page).evaluate((e) => Math.round(e.scrollHeight - e.clientHeight - e.scrollTop));
const mark = (page: Page) => page.getByRole('button', { name: /New text below|Read on/ });
const where = async (page: Page, text: string) =>
  Math.round((await story(page).getByText(text).first().boundingBox())?.y ?? NaN);

async function wheel(page: Page, by: number): Promise<void> {
  await story(page).hover();
  await page.mouse.wheel(0, by);
}

describe('while text arrives', () => {
  it('the page follows, but its beginning stays in the window', async () => {
    const low = await Browser.open({ height: 560 });
    const { page, session } = await begun(server, low);
    await say(page, 'I wait');
    await guide(page, session).waitFor();
    const line = await where(page, 'I wait');
    expect(line).toBeGreaterThan(50);
    expect(line).toBeLessThan(140);
    await mark(page).waitFor();
    await mark(page).click();
    await expect.poll(() => toEnd(page)).toBeLessThan(60);
    await mark(page).waitFor({ state: 'detached' });
    await low.close();
  });

  it('a reader who scrolled up is left where they are, and a mark leads back', async () => {
    const { page, session } = await begun(server, browser);
    server.holdAfter = 4;
    await say(page, 'I wait');
    await story(page).getByText('The keeper does not').waitFor();
    await wheel(page, -5000);
    await expect.poll(() => top(page)).toBe(0);
    server.release();
    await guide(page, session).waitFor();
    expect(await top(page)).toBe(0);
    const back = page.getByRole('button', { name: 'New text below' });
    await back.waitFor();
    await accessible(page);
    await picture(page, 'new-text');
    await back.click();
    await expect.poll(() => where(page, 'I wait')).toBeLessThan(160);
  });

  it('nothing on the page shifts', async () => {
    const { page, session } = await begun(server, browser);
    await page.evaluate(() => {
      const w = window as unknown as { shifts: number[] };
      w.shifts = [];
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) w.shifts.push((entry as unknown as { value: number }).value);
      }).observe({ type: 'layout-shift', buffered: false });
    });
    server.holdAfter = 2;
    await say(page, 'I wait');
    await story(page).getByText('The keeper').waitFor();
    // The first words are there: from here to the last nothing moves but the pen.
    await page.waitForTimeout(700);
    await page.evaluate(() => ((window as unknown as { shifts: number[] }).shifts = []));
    server.release();
    await guide(page, session).waitFor();
    await page.waitForTimeout(300);
    const shifts = await page.evaluate(() => (window as unknown as { shifts: number[] }).shifts);
    expect(shifts.reduce((a, b) => a + b, 0)).toBeLessThan(0.01);
  });

  it('the committed text stands where the streamed text stood', async () => {
    const { page, session } = await begun(server, browser);
    // The last few letters are held back, so that there is a moment to look.
    server.holdAfter = Math.floor((session.telling.passages[0] ?? '').length / 9) - 1;
    await say(page, 'I wait');
    await story(page).locator('.passage--streaming').getByText('From the water comes').waitFor();
    // Within the story: the window may follow the text, the text does not move.
    const place = async () => (await where(page, 'The keeper does not step back')) + (await top(page));
    const before = await place();
    server.release();
    await guide(page, session).waitFor();
    expect(Math.abs((await place()) - before)).toBeLessThan(3);
  });
});

describe('a long session', () => {
  it('moves older messages into its list without moving the page', async () => {
    const low = await Browser.open({ height: 520 });
    const session = server.create('lanternreach', 'en');
    session.fill(100);
    const page = await low.page(`${server.url}/sessions/${session.id}`);
    await story(page).getByText('99.').waitFor();
    server.holdAfter = Math.floor((session.telling.passages[0] ?? '').length / 9) - 1;
    await say(page, 'I wait');
    await story(page).locator('.passage--streaming').getByText('From the water comes').waitFor();
    await page.waitForTimeout(500);
    // A reader who went up a little: from here on nothing but themselves may scroll.
    await wheel(page, -80);
    await page.waitForTimeout(300);
    const before = await where(page, 'I wait');
    server.release();
    await guide(page, session).waitFor({ state: 'attached' });
    await page.waitForTimeout(300);
    expect(Math.abs((await where(page, 'I wait')) - before)).toBeLessThan(3);
    await low.close();
  });

  it('opens at its end, and draws only what is near', async () => {
    const session = server.create('lanternreach', 'en');
    session.fill(2500);
    const page = await browser.page(`${server.url}/sessions/${session.id}`);
    await story(page).getByText('2499.').waitFor();
    expect(await toEnd(page)).toBeLessThan(400);
    await accessible(page);
    await picture(page, 'long');

    // Back through the pages: the place is kept when older ones are put in front.
    for (let i = 0; i < 40; i++) {
      await wheel(page, -3000);
      await page.waitForTimeout(60);
    }
    const loaded = await page.evaluate(
      () => performance.getEntriesByType('resource').filter((e) => e.name.includes('/messages?')).length,
    );
    expect(loaded).toBeGreaterThan(3);
    expect(await page.locator('article').count()).toBeLessThan(60);

    await rest(page);
    await page.waitForTimeout(600);
    const seen = await page.evaluate(() => {
      const box = document.getElementById('story')!.getBoundingClientRect();
      const all = [...document.querySelectorAll('#story article')];
      const first = all.find((a) => a.getBoundingClientRect().top > box.top + 40)!;
      return { text: first.textContent, y: Math.round(first.getBoundingClientRect().top) };
    });
    // A turn of another tab arrives far below: what is read here does not move.
    session.everyone({
      type: 'frame',
      seq: session.seq + 1,
      lastId: 'x',
      events: [
        {
          type: 'message.appended',
          payload: {
            message: {
              id: 'far',
              turnId: 't',
              seq: 99_999,
              role: 'assistant',
              source: 'story',
              text: 'Far below.',
              createdAt: '',
            },
          },
        },
      ],
    });
    await page.getByRole('button', { name: 'New text below' }).waitFor();
    const after = await page.evaluate((text) => {
      const same = [...document.querySelectorAll('#story article')].find((a) => a.textContent === text);
      return Math.round(same?.getBoundingClientRect().top ?? NaN);
    }, seen.text);
    expect(Math.abs(after - seen.y)).toBeLessThan(3);
    await picture(page, 'long-middle');
  });

  it('keeps the place when a page of older messages comes', async () => {
    const session = server.create('lanternreach', 'en');
    session.fill(400);
    const page = await browser.page(`${server.url}/sessions/${session.id}`);
    await story(page).getByText('399.').waitFor();
    await page.waitForTimeout(500);
    // Hold the next page back, go to the top, mark what is there, let it come.
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/messages?*', async (route) => {
      await gate;
      await route.continue();
    });
    await story(page).evaluate((e) => (e.scrollTop = 0));
    await page.getByRole('button', { name: 'Turning back…' }).waitFor();
    await page.waitForTimeout(400);
    const place = () =>
      page.evaluate(() => {
        const all = [...document.querySelectorAll('#story article')];
        const it = all.find((a) => a.textContent.includes('320.'));
        return Math.round(it?.getBoundingClientRect().top ?? NaN);
      });
    const before = await place();
    release();
    await expect.poll(() => story(page).evaluate((e) => e.scrollTop)).toBeGreaterThan(1000);
    await page.waitForTimeout(400);
    expect(Math.abs((await place()) - before)).toBeLessThan(6);
    await page.unroute('**/messages?*');
  });

  it('comes to its first page', async () => {
    const session = server.create('lanternreach', 'en');
    session.fill(170);
    const page = await browser.page(`${server.url}/sessions/${session.id}`);
    await story(page).getByText('169.').waitFor();
    const title = story(page).locator('.title-page');
    await expect
      .poll(
        async () => {
          await story(page).evaluate((e) => (e.scrollTop = 0));
          return title.count();
        },
        { timeout: 20_000, interval: 250 },
      )
      .toBe(1);
    await story(page).evaluate((e) => (e.scrollTop = 0));
    await story(page).getByText(/^0\. /).waitFor();
    expect(await page.getByRole('button', { name: 'Earlier pages' }).count()).toBe(0);
    await picture(page, 'first-page');
  });

  it('says so when earlier pages cannot be loaded, and tries again', async () => {
    const session = server.create('lanternreach', 'en');
    session.fill(100);
    const page = await browser.page(`${server.url}/sessions/${session.id}`);
    await story(page).getByText('99.').waitFor();
    server.httpDown = true;
    // The page may still be going to its end for the first time: the reader goes up until they are there.
    await expect
      .poll(async () => {
        await story(page).evaluate((e) => (e.scrollTop = 0));
        return page.getByText('Earlier pages could not be loaded.').count();
      })
      .toBe(1);
    server.httpDown = false;
    await page.getByRole('button', { name: 'Earlier pages' }).click();
    await expect.poll(() => story(page).locator('.title-page').count()).toBe(1);
  });
});

it('nothing went wrong on the way', () => {
  expect(browser.complaints).toEqual([]);
});
