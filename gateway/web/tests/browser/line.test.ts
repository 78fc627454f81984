import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MockServer } from '../mock/server';
import type { MockSession } from '../mock/session';
import { Browser } from './browser';
import { accessible, begun, guide, input, lost, picture, reconnect, rest, say, story } from './reader';

/** The line to the server: lost and found again, shared by two tabs, cut by a reload. Nothing is lost, nothing twice. */

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

/** What the page shows as story, paragraph by paragraph. */
const shown = (page: Page) => page.locator('.story__flow p, .story__item p').allTextContents();

async function sameAs(page: Page, other: Page): Promise<void> {
  await expect.poll(() => shown(page)).toEqual(await shown(other));
}

const count = (session: MockSession, text: string) => session.messages.filter((m) => m.text === text).length;

describe('a dropped line', () => {
  it('says so, keeps what is typed and what was sent, and goes on without a reload', async () => {
    const { page, session } = await begun(server, browser);
    server.socketsDown = true;
    server.dropSockets();
    await lost(page).waitFor();
    await say(page, 'sent while away');
    await story(page).getByText('Waits for the connection').waitFor();
    await input(page).fill('typed while away');
    await accessible(page);
    await picture(page, 'lost');
    expect(count(session, 'sent while away')).toBe(0);

    await reconnect(server, page);
    await expect.poll(() => count(session, 'sent while away')).toBe(1);
    await guide(page, session).waitFor();
    expect(await input(page).inputValue()).toBe('typed while away');
    expect(await story(page).getByText('sent while away').count()).toBe(1);
  });

  it('gives back a line that was never on its way', async () => {
    const { page, session } = await begun(server, browser);
    server.socketsDown = true;
    server.dropSockets();
    await lost(page).waitFor();
    await say(page, 'not this after all');
    await page.getByRole('button', { name: 'Take back' }).click();
    await expect.poll(() => input(page).inputValue()).toBe('not this after all');
    await reconnect(server, page);
    expect(count(session, 'not this after all')).toBe(0);
  });

  it('BL-09: in mid-answer, resumes where it was: no word is lost, none twice', async () => {
    const { page, session } = await begun(server, browser);
    server.holdAfter = 25;
    await say(page, 'I listen');
    await story(page).getByText('I keep one to nine').waitFor();
    server.dropSockets();
    // The answer goes on while nobody hears it.
    server.release();
    server.pace = 4;
    await guide(page, session).waitFor();
    const fresh = await browser.page(page.url());
    await guide(fresh, session).waitFor();
    await sameAs(page, fresh);
    expect(await shown(page)).toEqual(
      expect.arrayContaining([expect.stringContaining('From the water comes the sound')]),
    );
  });

  it('again and again while a turn streams, ends in the same story', async () => {
    const { page, session } = await begun(server, browser);
    server.pace = 25;
    await say(page, 'I stay');
    for (let i = 0; i < 5; i++) {
      await page.waitForTimeout(350);
      server.dropSockets();
    }
    server.pace = 2;
    await guide(page, session).waitFor();
    const fresh = await browser.page(page.url());
    await guide(fresh, session).waitFor();
    await sameAs(page, fresh);
    expect(count(session, 'I stay')).toBe(1);
  });
});

describe('a reload', () => {
  it('in mid-turn shows the line and the prose so far, and goes on', async () => {
    const { page, session } = await begun(server, browser);
    server.holdAfter = 25;
    await say(page, 'I listen');
    await story(page).getByText('I keep one to nine').waitFor();
    await input(page).fill('half a thought');
    await page.reload();
    await story(page).getByText('I listen').waitFor();
    await story(page).getByText('I keep one to nine').waitFor();
    expect(await input(page).inputValue()).toBe('half a thought');
    server.release();
    await guide(page, session).waitFor();
    expect(await story(page).getByText('I listen').count()).toBe(1);
  });

  it('shows the same story', async () => {
    const { page, session } = await begun(server, browser);
    await say(page, 'I look');
    await guide(page, session).waitFor();
    await rest(page);
    const before = await shown(page);
    await page.reload();
    await guide(page, session).waitFor();
    expect(await shown(page)).toEqual(before);
  });
});

describe('two tabs', () => {
  it('see the same stream', async () => {
    const { page, session } = await begun(server, browser);
    const other = await browser.page(page.url());
    await guide(other, session).waitFor();
    server.holdAfter = 20;
    await say(page, 'I speak');
    await story(other).getByText('I speak').waitFor();
    await story(other).getByText('The keeper does not step back').waitFor();
    server.release();
    await guide(page, session).waitFor();
    await guide(other, session).waitFor();
    await sameAs(other, page);
  });

  it('BL-10: the one that is behind keeps its line and reads the news first', async () => {
    const { page, session } = await begun(server, browser);
    const behind = await browser.page(page.url());
    await guide(behind, session).waitFor();
    // What the second tab sends is held on its way until the first tab's turn is over.
    await behind.evaluate(() => {
      // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called with its socket below
      const send = WebSocket.prototype.send;
      const held: (() => void)[] = [];
      WebSocket.prototype.send = function (data) {
        if (String(data).includes('submit_actions')) held.push(() => send.call(this, data));
        else send.call(this, data);
      };
      (window as unknown as { deliver: () => void }).deliver = () => held.forEach((go) => go());
    });
    await say(behind, 'from behind');
    await say(page, 'from the front');
    await guide(page, session).waitFor();
    await behind.evaluate(() => (window as unknown as { deliver: () => void }).deliver());
    await behind.getByText('The story moved on while you wrote.', { exact: false }).first().waitFor();
    expect(await input(behind).inputValue()).toBe('from behind');
    await story(behind).getByText('from the front').waitFor();
    expect(count(session, 'from behind')).toBe(0);
    await accessible(behind);
    await picture(behind, 'conflict');
    await behind.getByRole('button', { name: 'Dismiss' }).click();
    await input(behind).press('Enter');
    await rest(behind);
    await expect.poll(() => count(session, 'from behind')).toBe(0);
    await behind.evaluate(() => (window as unknown as { deliver: () => void }).deliver());
    await expect.poll(() => count(session, 'from behind')).toBe(1);
  });

  it('BL-10: what streams in one session is never drawn in another', async () => {
    const { page, session } = await begun(server, browser);
    server.holdAfter = 15;
    await say(page, 'I call');
    await story(page).getByText('The keeper does not').waitFor();
    await page.getByRole('link', { name: 'All stories' }).click();
    const other = server.create('ninefold-peak', 'en');
    server.holdAfter = undefined;
    await page
      .getByRole('link', { name: /Ninefold Peak/ })
      .first()
      .click();
    await page.getByRole('button', { name: 'Begin the story' }).click();
    server.release();
    await page.getByLabel('Name').waitFor();
    await expect.poll(() => count(session, 'I call')).toBe(1);
    expect(await story(page).getByText('The keeper does not').count()).toBe(0);
    expect(other.messages).toHaveLength(0);
  });
});

it('a session that is deleted elsewhere is gone', async () => {
  const { page, session } = await begun(server, browser);
  server.sessions.delete(session.id);
  session.drop();
  await page.getByRole('heading', { name: 'There is no such story here.' }).waitFor();
});

it('nothing went wrong on the way', () => {
  expect(browser.complaints).toEqual([]);
});
