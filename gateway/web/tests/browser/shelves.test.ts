import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MockServer } from '../mock/server';
import { Browser } from './browser';
import { accessible, fits, picture } from './reader';

/** The pages outside a story: arriving, choosing, going on, deleting. */

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

const open = (path = '/') => browser.page(server.url + path);

describe('arriving', () => {
  it('for the first time: what this is, and the worlds', async () => {
    const page = await open();
    await page.getByRole('heading', { level: 1, name: 'A book that answers' }).waitFor();
    await page.getByRole('link', { name: /Lanternreach/ }).waitFor();
    expect(
      await page
        .getByRole('listitem')
        .filter({ has: page.getByRole('link') })
        .count(),
    ).toBe(3);
    await accessible(page);
    await picture(page, 'first-visit');
  });

  it('where only one world is installed, and where none is', async () => {
    server.worlds = ['lanternreach'];
    const page = await open();
    await page.getByRole('link', { name: /Lanternreach/ }).waitFor();
    await picture(page, 'one-world');
    server.worlds = [];
    await page.reload();
    await page.getByText('No world is installed yet.').waitFor();
    await accessible(page);
  });

  it('while the server has a problem, and after it', async () => {
    server.httpDown = true;
    const page = await open();
    await page.getByRole('heading', { name: 'The list could not be loaded.' }).waitFor();
    await page.getByText('The store is not reachable.').waitFor();
    await accessible(page);
    await picture(page, 'list-failed');
    server.httpDown = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('link', { name: /Lanternreach/ }).waitFor();
  });

  it('with stories: they come first, with what became of each', async () => {
    const one = server.create('lanternreach', 'en');
    one.fill(24);
    const two = server.create('ninefold-peak', 'zh-CN');
    two.change({
      title: '龙胆与第七盏灯——一个名字长得不像话的故事，长到任何书脊都印不下，却还是要完整地读出来',
      status: 'paused',
    });
    server.create('slow-orbit', 'en').change({ status: 'ended', title: '🐉'.repeat(40) });
    const page = await open();
    await page.getByRole('heading', { level: 1, name: 'Go on reading' }).waitFor();
    await page.getByRole('link', { name: /12 turns/ }).waitFor();
    await page.getByText(/Paused/).waitFor();
    await page.getByText(/Ended/).waitFor();
    await accessible(page);
    await picture(page, 'go-on');
    await page.getByRole('link', { name: /12 turns/ }).click();
    await page.waitForURL(`**/sessions/${one.id}`);
  });

  it('at an address that is nothing', async () => {
    const page = await open('/nowhere/at/all');
    await page.getByRole('heading', { name: 'There is no such story here.' }).waitFor();
    await page.goto(`${server.url}/sessions/gone-1`);
    await page.getByRole('heading', { name: 'There is no such story here.' }).waitFor();
    await page.goto(`${server.url}/worlds/gone`);
    await page.getByRole('heading', { name: 'There is no such world here.' }).waitFor();
    await accessible(page);
    await page.getByRole('link', { name: 'All stories' }).click();
    await page.getByRole('link', { name: /Lanternreach/ }).waitFor();
  });
});

describe('a world', () => {
  it('has a title page, and the story begins in the language that is chosen', async () => {
    const page = await open('/worlds/lanternreach');
    await page.getByRole('heading', { level: 1, name: 'Lanternreach' }).waitFor();
    expect(await page.getByRole('radio', { name: 'English' }).getAttribute('aria-checked')).toBe('true');
    await accessible(page);
    await picture(page, 'world');
    await page.getByRole('radio', { name: '简体中文' }).click();
    await page.getByRole('button', { name: 'Begin the story' }).click();
    await page.waitForURL('**/sessions/*');
    const session = [...server.sessions.values()][0];
    expect(session?.session.locale).toBe('zh-CN');
    await page.getByRole('region', { name: 'Story' }).getByText('渡船从不在灯汀靠岸').waitFor();
    expect(await page.locator('.story__column').getAttribute('lang')).toBe('zh-CN');
  });

  it('lists the stories that were begun in it', async () => {
    server.create('lanternreach', 'en').fill(6);
    const page = await open('/worlds/lanternreach');
    await page.getByRole('heading', { name: 'Your stories here' }).waitFor();
    await page.getByRole('link', { name: /3 turns/ }).waitFor();
  });
});

describe('deleting', () => {
  it('asks first, keeps the focus inside while it asks, and gives it back', async () => {
    const session = server.create('lanternreach', 'en');
    const page = await open();
    const bin = page.getByRole('button', { name: 'Delete “Lanternreach”' });
    await bin.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Delete this story?' });
    await dialog.waitFor();
    await accessible(page);
    await picture(page, 'delete');
    for (let i = 0; i < 6; i++) {
      await page.keyboard.press('Tab');
      expect(await dialog.evaluate((d) => d.contains(document.activeElement))).toBe(true);
    }
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => bin.evaluate((b) => b === document.activeElement)).toBe(true);
    expect(server.sessions.has(session.id)).toBe(true);

    await bin.click();
    await page.getByRole('button', { name: 'Delete it' }).click();
    await page.getByRole('heading', { level: 1, name: 'A book that answers' }).waitFor();
    expect(server.sessions.has(session.id)).toBe(false);
  });
});

describe('the reader’s choices', () => {
  it('language and theme change at once and last', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Reading settings' }).click();
    await page.getByRole('menuitemradio', { name: '简体中文' }).click();
    await page.getByRole('menuitemradio', { name: '夜色' }).click();
    await accessible(page);
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: '一本会回应的书' }).waitFor();
    await page.getByRole('link', { name: /灯汀/ }).waitFor();
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('zh-CN');
    await page.reload();
    await page.getByRole('heading', { name: '一本会回应的书' }).waitFor();
    expect(await page.evaluate(() => document.documentElement.dataset['theme'])).toBe('night');
    expect(await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)).toBe(
      'rgb(27, 25, 22)',
    );
    await accessible(page);
    await picture(page, 'first-visit-zh-night');
    await page.evaluate(() => localStorage.clear());
  });
});

it('a phone of 360 pixels in Chinese', async () => {
  const phone = await Browser.open({ width: 360, height: 740, locale: 'zh-CN' });
  const page = await phone.page(server.url);
  await page.getByRole('link', { name: /灯汀/ }).waitFor();
  await fits(page);
  await accessible(page);
  await picture(page, 'first-visit-phone-zh');
  await page.getByRole('link', { name: /灯汀/ }).click();
  await page.getByRole('button', { name: '开始故事' }).waitFor();
  await fits(page);
  await picture(page, 'world-phone-zh');
  expect(phone.complaints).toEqual([]);
  await phone.close();
});

it('nothing went wrong on the way', () => {
  expect(browser.complaints).toEqual([]);
});
