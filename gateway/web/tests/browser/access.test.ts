import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MockServer } from '../mock/server';
import { Browser } from './browser';
import { begun, guide, input, reconnect, rest, say, stop, story } from './reader';

/** Keyboard and screen reader: a gate. (axe-core runs in every state of the other files.) */

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

const focused = (page: Page) =>
  page.evaluate(() => {
    const e = document.activeElement;
    const label = (e as HTMLInputElement | null)?.labels?.[0]?.textContent;
    return (e?.getAttribute('aria-label') ?? label ?? e?.textContent ?? '').trim();
  });

async function tabTo(page: Page, name: RegExp, most = 30): Promise<void> {
  for (let i = 0; i < most; i++) {
    await page.keyboard.press('Tab');
    if (name.test(await focused(page))) return;
  }
  throw new Error(`Tab does not lead to ${String(name)}`);
}

const said = (page: Page) => page.locator('[aria-live]').locator('p').allTextContents();

it('a whole session is played with the keyboard alone', async () => {
  const page = await browser.page(server.url);
  await page.getByRole('link', { name: /Lanternreach/ }).waitFor();
  await tabTo(page, /Lanternreach/);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Begin the story' }).waitFor();
  await tabTo(page, /^English$/);
  await page.keyboard.press('ArrowRight');
  expect(await page.getByRole('radio', { name: '简体中文' }).getAttribute('aria-checked')).toBe('true');
  await page.keyboard.press('ArrowLeft');
  await tabTo(page, /Begin the story/);
  await page.keyboard.press('Enter');

  await page.getByLabel('Name').waitFor();
  await tabTo(page, /^Name/);
  await page.keyboard.type('Élodie');
  await tabTo(page, /^Calling/);
  await page.keyboard.press('ArrowDown');
  await tabTo(page, /Sign the ledger/);
  await page.keyboard.press('Enter');
  const session = [...server.sessions.values()][0]!;
  await guide(page, session).waitFor();

  await tabTo(page, /Who else has seen the ledger/);
  await page.keyboard.press('Enter');
  await expect.poll(() => focused(page)).toMatch(/What do you do or say/);
  server.holdAfter = 8;
  await page.keyboard.press('Enter');
  await stop(page).waitFor();
  await tabTo(page, /^Stop$/, 40);
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'This part was stopped.' }).waitFor();
  expect(await focused(page)).toMatch(/What do you do or say/);
  await tabTo(page, /^Try again$/, 40);
  await page.keyboard.press('Enter');
  await guide(page, session).waitFor();
  expect(session.messages.at(-2)?.text).toBe('Who else has seen the ledger?');
});

describe('landmarks and names', () => {
  it('there is one of each, one heading of the first level, and one live region', async () => {
    const { page } = await begun(server, browser);
    for (const role of ['banner', 'main', 'contentinfo'] as const)
      expect(await page.getByRole(role).count()).toBe(1);
    expect(await page.getByRole('complementary', { name: 'Around the story' }).count()).toBe(1);
    expect(await page.getByRole('heading', { level: 1 }).allTextContents()).toEqual(['Lanternreach']);
    expect(await page.locator('[aria-live], [role=status], [role=alert]').count()).toBe(1);
    expect(await page.title()).toBe('Lanternreach · Covel');
  });

  it('a page that is come to by a link begins at its beginning, with its title', async () => {
    const page = await browser.page(server.url);
    await page.getByRole('link', { name: /Lanternreach/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Lanternreach' }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
    expect(await page.title()).toBe('Lanternreach · Covel');
  });

  it('the first Tab offers the way to the story', async () => {
    const { page } = await begun(server, browser);
    await page.reload();
    await story(page).waitFor();
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Skip to the story');
    await page.keyboard.press('Enter');
    await expect
      .poll(() => story(page).evaluate((e) => e === document.activeElement || location.hash === '#story'))
      .toBe(true);
  });

  it('the focus is seen wherever it is', async () => {
    const { page } = await begun(server, browser);
    for (let i = 0; i < 14; i++) {
      await page.keyboard.press('Tab');
      const visible = await page.evaluate(() => {
        const e = document.activeElement as HTMLElement;
        const own = getComputedStyle(e);
        const frame = getComputedStyle(e.parentElement!);
        return own.outlineStyle !== 'none' || frame.boxShadow !== 'none' || e === document.body;
      });
      expect(visible, await focused(page)).toBe(true);
    }
  });
});

describe('what is read aloud', () => {
  it('each finished paragraph once, never a piece of one', async () => {
    const { page, session } = await begun(server, browser);
    const before = (await said(page)).length;
    server.holdAfter = 20;
    await say(page, 'I wait');
    await story(page).getByText('I keep one').waitFor();
    await expect
      .poll(async () => (await said(page)).slice(before))
      .toEqual([
        'The keeper does not step back when you come near; he steps aside, as if the dark under the lamp were a room and you had knocked.',
      ]);
    server.release();
    await guide(page, session).waitFor();
    await expect.poll(async () => (await said(page)).slice(before)).toHaveLength(3);
    expect((await said(page)).at(-1)).toBe('From the water comes the sound of an oar set down with care.');
    await page.reload();
    await story(page).waitFor();
    await page.waitForTimeout(300);
    expect(await said(page)).toEqual([]);
  });

  it('a failure, and a line that is lost and found', async () => {
    const { page } = await begun(server, browser);
    server.next = 'fail';
    await say(page, 'I ask');
    await expect
      .poll(async () => (await said(page)).at(-1))
      .toBe('This part could not be written. Everything before it is safe.');
    server.socketsDown = true;
    server.dropSockets();
    await expect.poll(async () => (await said(page)).at(-1)).toMatch(/^The connection is gone/);
    await reconnect(server, page);
    await expect.poll(async () => (await said(page)).at(-1)).toBe('Connected again.');
  });
});

it('reduced motion: nothing moves by itself', async () => {
  const calm = await Browser.open({ reducedMotion: 'reduce' });
  const { page } = await begun(server, calm);
  server.holdAfter = 8;
  await say(page, 'I wait');
  await story(page).locator('.passage--streaming').waitFor();
  expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
  server.release();
  await rest(page);
  await calm.close();
});

it('on a phone the panels are a sheet that keeps the focus and gives it back', async () => {
  const phone = await Browser.open({ width: 360, height: 740 });
  const { page } = await begun(server, phone);
  const button = page.getByRole('button', { name: 'Show what is around the story' });
  await button.focus();
  await page.keyboard.press('Enter');
  const sheet = page.getByRole('dialog', { name: 'Around the story' });
  await sheet.waitFor();
  for (let i = 0; i < 8; i++) {
    await page.keyboard.press('Tab');
    expect(await sheet.evaluate((d) => d.contains(document.activeElement))).toBe(true);
  }
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });
  await expect.poll(() => button.evaluate((b) => b === document.activeElement)).toBe(true);
  expect(await input(page).isVisible()).toBe(true);
  await phone.close();
});

it('nothing went wrong on the way', () => {
  expect(browser.complaints).toEqual([]);
});
