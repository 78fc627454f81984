import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MockServer } from '../mock/server';
import type { MockSession } from '../mock/session';
import { Browser } from './browser';
import { begun, guide, input, picture, rest, say, story } from './reader';

/** BL-18: whatever a model, a player, a world or a plugin writes, it is read and never run. */

const EVIL =
  '<img src=x onerror="window.pwned=1"> <svg/onload="window.pwned=2"> [x](javascript:window.pwned=3) <style>*{display:none}</style> <script>window.pwned=4</script> <iframe srcdoc="<script>parent.pwned=5</script>"></iframe> <a href="javascript:window.pwned=6">link</a>';

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

/** Everything on the page that only markup could have made, and what ran. */
async function harm(page: Page): Promise<unknown> {
  return page.evaluate(() => ({
    ran: (window as unknown as { pwned?: number }).pwned,
    made: document.querySelectorAll(
      '#root :is(img, iframe, script, style, svg:not(.lucide), a[href^="javascript"])',
    ).length,
    hidden: getComputedStyle(document.querySelector('header')!).display === 'none',
  }));
}

const harmless = { ran: undefined, made: 0, hidden: false };

async function poison(page: Page, session: MockSession): Promise<void> {
  const message = (id: string, more: object) => ({
    id,
    turnId: 't',
    seq: 90_000,
    role: 'assistant',
    source: 'story',
    text: EVIL,
    createdAt: '',
    ...more,
  });
  const text = (content: unknown) => ({ component: 'Text', props: { content } });
  session.everyone({
    type: 'frame',
    seq: session.seq + 1,
    lastId: 'evil',
    events: [
      { type: 'message.appended', payload: { message: message('e1', {}) } },
      {
        type: 'message.appended',
        payload: { message: message('e2', { role: 'user', source: 'player', characterName: EVIL }) },
      },
      {
        type: 'message.appended',
        payload: { message: message('e3', { segments: [{ kind: 'dialogue', text: EVIL, speaker: EVIL }] }) },
      },
      {
        type: 'interaction.requested',
        payload: {
          messageId: 'e1',
          interaction: {
            turnId: 't',
            interactionId: 'f',
            type: 'form',
            status: 'open',
            block: {
              title: EVIL,
              notice: EVIL,
              submitLabel: EVIL,
              fields: [
                { type: 'text', name: EVIL, label: EVIL, placeholder: EVIL, defaultValue: EVIL },
                { type: 'select', name: 's', label: EVIL, options: [{ value: EVIL, label: EVIL }] },
              ],
            },
          },
        },
      },
      {
        type: 'ui.rendered',
        payload: {
          messageId: 'e3',
          block: {
            parts: [
              {
                id: 'a',
                type: 'Alert',
                status: 'success',
                content: { level: 'info', title: EVIL, message: EVIL },
              },
              { id: 'b', type: 'text', status: 'success', content: EVIL },
              { id: 'c', type: 'spec', status: 'success', content: text(EVIL) },
              {
                id: 'd',
                type: 'html',
                status: 'success',
                content: { component: 'html', props: { innerHTML: EVIL } },
              },
            ],
          },
        },
      },
      {
        type: 'character.upserted',
        payload: {
          character: { id: 'evil', name: EVIL, type: 'npc', description: EVIL, fields: { [EVIL]: EVIL } },
        },
      },
      {
        type: 'plugin-data.changed',
        payload: {
          pluginId: 'codex',
          changes: [
            {
              namespace: 'entries',
              key: 'evil',
              value: { title: EVIL, text: EVIL, kind: EVIL, tags: [EVIL] },
              operation: 'set',
            },
          ],
        },
      },
      { type: 'session.changed', payload: { session: { ...session.session, title: EVIL } } },
    ] as never,
  });
  await story(page).getByText('<img src=x').first().waitFor();
}

async function tour(page: Page): Promise<void> {
  for (const tab of ['Codex', 'People', 'World']) {
    await page.getByRole('tab', { name: tab, exact: true }).click();
    await page.getByRole('tabpanel').waitFor();
    if (tab === 'People') await page.getByRole('tabpanel').getByText('<img').first().click();
  }
}

describe.each([
  ['under the content security policy', true],
  ['without any policy', false],
])('%s', (_, policy) => {
  it('hostile text is inert and readable, live, after a reload, and on every redraw', async () => {
    server.policy = policy;
    const { page, session } = await begun(server, browser);
    await poison(page, session);
    await tour(page);
    expect(await harm(page)).toEqual(harmless);
    for (const piece of [
      '<img src=x onerror=',
      '<svg/onload=',
      '[x](javascript:',
      '<style>*{display:none}</style>',
    ]) {
      expect(await story(page).getByText(piece).count()).toBeGreaterThan(3);
    }
    await picture(page, policy ? 'hostile' : 'hostile-without-policy');

    await say(page, EVIL);
    await rest(page);
    expect(await harm(page)).toEqual(harmless);
    session.session = { ...session.session, title: EVIL, worldName: EVIL };
    await page.reload();
    await story(page).getByText('<img src=x').first().waitFor();
    expect(await harm(page)).toEqual(harmless);
    await page.goto(server.url);
    await page
      .getByRole('link', { name: /<img src=x/ })
      .first()
      .waitFor();
    expect(await harm(page)).toEqual(harmless);
  });
});

it('a link leads outside only on purpose, and says where to', async () => {
  const { page, session } = await begun(server, browser);
  session.everyone({
    type: 'frame',
    seq: session.seq + 1,
    lastId: 'link',
    events: [
      {
        type: 'message.appended',
        payload: {
          message: {
            id: 'l1',
            turnId: 't',
            seq: 90_000,
            role: 'assistant',
            source: 'story',
            text: 'A note says [the map](https://maps.example.com/quay?x=1).',
            createdAt: '',
          },
        },
      },
    ],
  });
  await page.evaluate(() => {
    const w = window as unknown as { opened: unknown[][] };
    w.opened = [];
    window.open = (...args: unknown[]) => {
      w.opened.push(args);
      return null;
    };
  });
  const opened = () => page.evaluate(() => (window as unknown as { opened: unknown[][] }).opened);
  const link = story(page).getByRole('button', { name: 'the map (maps.example.com)' });
  await link.click();
  const dialog = page.getByRole('dialog', { name: 'Open a page outside the story?' });
  await dialog.getByText('maps.example.com').first().waitFor();
  await picture(page, 'link');
  expect(await opened()).toEqual([]);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect(await opened()).toEqual([]);
  await expect.poll(() => link.evaluate((b) => b === document.activeElement)).toBe(true);
  await link.click();
  await dialog.getByRole('button', { name: 'Open maps.example.com' }).click();
  expect(await opened()).toEqual([['https://maps.example.com/quay?x=1', '_blank', 'noopener,noreferrer']]);
});

it('the page asks nobody but its own server for anything', async () => {
  const { page, session } = await begun(server, browser);
  const foreign: string[] = [];
  page.on('request', (r) => {
    if (!r.url().startsWith(server.url) && !r.url().startsWith('data:')) foreign.push(r.url());
  });
  await poison(page, session);
  await tour(page);
  await page.reload();
  await input(page).waitFor();
  expect(foreign).toEqual([]);
});

it('20,000 pieces of prose at once are only prose', async () => {
  const { page, session } = await begun(server, browser);
  server.pace = 0;
  server.holdAfter = 1;
  await say(page, 'flood');
  await story(page).locator('.passage--streaming').waitFor();
  for (let n = 0; n < 20_000; n++) {
    session.everyone({
      type: 'transient',
      executionId: 'x3',
      n: 1000 + n,
      event: {
        type: 'narrative.delta',
        payload: {
          runtimeId: 'narrator',
          pluginId: 'narrator',
          delta: n % 200 === 199 ? '.\n\n' : `${String(n)} `,
        },
      },
    });
  }
  await story(page).getByText('19998', { exact: false }).first().waitFor();
  await input(page).fill('still here');
  expect(await input(page).inputValue()).toBe('still here');
  server.release();
  await guide(page, session).waitFor();
  expect(await story(page).getByText('19998').count()).toBe(0);
});

it('nothing on the way broke the policy', () => {
  expect(browser.complaints.filter((c) => /Content Security Policy|Trusted/i.test(c))).toEqual([]);
  expect(
    browser.complaints.filter((c) => !c.includes('json-render') && !c.includes('map is not a function')),
  ).toEqual([]);
});
