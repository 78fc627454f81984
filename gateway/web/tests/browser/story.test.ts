import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MockServer } from '../mock/server';
import { Browser } from './browser';
import { accessible, begun, fits, guide, input, picture, rest, say, stop, story } from './reader';

/** A session from its form to its end, as one reader sees it. */

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

describe('the set-up', () => {
  it('begins by itself, once, also when two tabs open it at the same time', async () => {
    const session = server.create('lanternreach', 'en');
    const url = `${server.url}/sessions/${session.id}`;
    const [a, b] = await Promise.all([browser.page(url), browser.page(url)]);
    await a.getByLabel('Name').waitFor();
    await b.getByLabel('Name').waitFor();
    expect(new Set(session.received.map((c) => c.requestId)).size).toBe(1);
    expect(session.messages).toHaveLength(2);
    await a.reload();
    await a.getByLabel('Name').waitFor();
    expect(session.received.every((c) => c.type === 'start_session')).toBe(true);
    expect(session.messages).toHaveLength(2);
  });

  it('streams the welcome, then asks with a form: faults at their fields, and what was typed stays', async () => {
    const session = server.create('lanternreach', 'en');
    server.holdAfter = 12;
    const page = await browser.page(`${server.url}/sessions/${session.id}`);
    await story(page).getByText('The ferry does not dock').waitFor();
    await page.getByText('Preparing the story').waitFor();
    await accessible(page);
    await picture(page, 'setup-streaming');
    server.release();

    const name = page.getByLabel('Name');
    await name.waitFor();
    await accessible(page);
    await picture(page, 'form');
    await page.getByRole('button', { name: 'Sign the ledger' }).click();
    await expect.poll(() => name.evaluate((e) => e === document.activeElement)).toBe(true);
    expect(await name.getAttribute('aria-invalid')).toBe('true');
    const fault = await name.getAttribute('aria-describedby');
    expect(await page.locator(`[id="${fault ?? ''}"]`).textContent()).toBe('Please fill this in.');
    await accessible(page);
    await picture(page, 'form-faults');
    expect(session.received.filter((c) => c.type === 'submit_actions')).toHaveLength(0);

    await name.fill('Odran');
    expect(await name.getAttribute('aria-invalid')).toBeNull();
    await page.getByLabel('Calling').selectOption('Cartographer');
    await page.getByLabel(/What brings you here/).fill('The map is wrong.');
    await page.getByRole('button', { name: 'Sign the ledger' }).click();
    await page.getByText('Somebody here already has this name.').first().waitFor();
    await expect.poll(() => name.evaluate((e) => e === document.activeElement)).toBe(true);
    expect(await page.getByLabel('Calling').inputValue()).toBe('Cartographer');
    expect(await page.getByLabel(/What brings you here/).inputValue()).toBe('The map is wrong.');
    await accessible(page);

    await name.fill('Élodie 陆青云');
    await name.press('Enter');
    await guide(page, session).waitFor();
    expect(session.received.at(-1)?.payload).toEqual({
      actions: [
        {
          interaction: expect.objectContaining({ interactionId: 'char-creation', type: 'form' }) as unknown,
          fields: { characterName: 'Élodie 陆青云', calling: 'Cartographer', reason: 'The map is wrong.' },
        },
      ],
    });
    await page.getByRole('group', { name: 'Answered' }).getByText('Élodie 陆青云').waitFor();
    await page.getByRole('tab', { name: 'Character' }).click();
    await page.getByRole('tabpanel').getByText('Cartographer').waitFor();
    await accessible(page);
    await picture(page, 'opening');
  });
});

describe('a turn', () => {
  it('says what is happening, and the input is free for the next line', async () => {
    const { page, session } = await begun(server, browser);
    const place = async () => (await input(page).boundingBox())?.y;
    const idle = await place();
    server.holdAfter = 20;
    await say(page, 'I walk up to the keeper');
    await story(page).getByText('The keeper does not step back').waitFor();
    expect(await place()).toBe(idle);
    const line = page.getByRole('region', { name: 'What is happening' });
    await line.getByText('The narrator is writing').waitFor();
    await line.getByText(/^\d+:\d\d$/).waitFor();
    expect(await input(page).inputValue()).toBe('');
    await accessible(page);
    await picture(page, 'streaming');

    await say(page, 'And I greet him');
    await story(page).getByText('And I greet him').waitFor();
    await story(page).getByText('Next in line').waitFor();
    await picture(page, 'queued');
    server.release();
    await expect
      .poll(() => session.messages.filter((m) => m.source === 'player').map((m) => m.text))
      .toEqual([expect.stringContaining('Élodie'), 'I walk up to the keeper', 'And I greet him']);
    await guide(page, session).waitFor();
    expect(await story(page).getByText('And I greet him').count()).toBe(1);
  });

  it('Shift+Enter breaks the line, an Enter of an input method does nothing, the input grows', async () => {
    const { page, session } = await begun(server, browser);
    const before = session.received.length;
    const box = input(page);
    const height = () => box.evaluate((e) => e.clientHeight);
    const low = await height();
    await box.fill('one');
    await box.press('Shift+Enter');
    await box.pressSequentially('two');
    expect(await box.inputValue()).toBe('one\ntwo');
    expect(await height()).toBeGreaterThan(low);
    await box.evaluate((e) => {
      for (const init of [{ isComposing: true, keyCode: 13 }, { keyCode: 229 }]) {
        e.dispatchEvent(
          new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, ...init }),
        );
      }
    });
    expect(session.received).toHaveLength(before);
    await box.press('Enter');
    await expect.poll(() => session.received.at(-1)?.payload).toEqual({ actions: [{ text: 'one\ntwo' }] });
    await rest(page);
  });

  it('a suggestion is written into the input, and the same once more sends it', async () => {
    const { page, session } = await begun(server, browser);
    await guide(page, session).click();
    expect(await input(page).inputValue()).toBe('Who else has seen the ledger?');
    expect(await input(page).evaluate((e) => e === document.activeElement)).toBe(true);
    await guide(page, session).click();
    await expect
      .poll(() => session.received.at(-1)?.payload)
      .toEqual({
        actions: [{ text: 'Who else has seen the ledger?' }],
      });
    await rest(page);
    await guide(page, session).waitFor();
    await picture(page, 'turn');
  });

  it('a choice is answered with a button, and speakers have their names', async () => {
    const { page, session } = await begun(server, browser);
    server.next = 'choice';
    await say(page, 'I look at him');
    const choice = page.getByRole('group', { name: session.telling.guide.decision });
    await choice.waitFor();
    await story(page).getByText('Odran', { exact: true }).waitFor();
    await accessible(page);
    await picture(page, 'choice');
    await choice.getByRole('button', { name: /Climb down/ }).click();
    await expect
      .poll(() => session.received.at(-1)?.payload)
      .toEqual({
        actions: [
          {
            interaction: expect.objectContaining({ type: 'choice' }) as unknown,
            fields: { selectedId: 'c2' },
          },
        ],
      });
    await page.getByRole('group', { name: 'Answered' }).getByText('Climb down to the black boat').waitFor();
    await rest(page);
  });
});

describe('when it goes wrong', () => {
  it('says why the set-up is blocked, and tries it again', async () => {
    const session = server.create('lanternreach', 'en');
    session.block('char-creator/player-init', 'the model is not there');
    const page = await browser.page(`${server.url}/sessions/${session.id}`);
    await page.getByText('The set-up cannot go on: the model is not there').waitFor();
    await accessible(page);
    expect(session.received).toHaveLength(0);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByLabel('Name').waitFor();
    expect(session.received.map((c) => c.type)).toEqual(['start_session']);
    expect(await page.getByText('The set-up cannot go on').count()).toBe(0);
  });

  it('says what failed and what is safe, shows the draft as a draft, and tries again', async () => {
    const { page, session } = await begun(server, browser);
    server.next = 'fail';
    await say(page, 'I ask him about the wick');
    const card = page.getByRole('region', { name: 'This part could not be written.' });
    await card.waitFor();
    await card.getByText('Everything before it is safe.').waitFor();
    await card.getByText('The model closed the connection after 214 words.').waitFor();
    await card.getByText('I ask him about the wick').waitFor();
    expect(await story(page).getByText('The keeper does not step back').isVisible()).toBe(false);
    await card.getByText('Unfinished draft').click();
    expect(await card.getByText('The keeper does not step back').isVisible()).toBe(true);
    await accessible(page);
    await picture(page, 'failure');

    await page.reload();
    await page.getByRole('button', { name: 'Try again' }).click();
    await guide(page, session).waitFor();
    expect(session.received.at(-1)?.type).toBe('retry_turn');
    expect(session.messages.at(-2)?.text).toBe('I ask him about the wick');
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
  });

  it('gives the line back to be changed', async () => {
    const { page } = await begun(server, browser);
    server.next = 'fail';
    await say(page, 'a line with a slip');
    await page.getByRole('button', { name: 'Change my line' }).click();
    expect(await input(page).inputValue()).toBe('a line with a slip');
    expect(await input(page).evaluate((e) => e === document.activeElement)).toBe(true);
  });

  it('Stop takes the turn back and keeps the line', async () => {
    const { page, session } = await begun(server, browser);
    const count = session.messages.length;
    server.holdAfter = 10;
    await say(page, 'I hesitate');
    await story(page).getByText('The keeper does not').waitFor();
    await stop(page).click();
    const card = page.getByRole('region', { name: 'This part was stopped.' });
    await card.getByText('I hesitate').waitFor();
    expect(session.messages).toHaveLength(count);
    await accessible(page);
    await picture(page, 'stopped');
  });
});

describe('a story that is not open', () => {
  it('can be paused and gone on with', async () => {
    const { page, session } = await begun(server, browser);
    await page.getByRole('button', { name: 'Reading settings' }).click();
    await page.getByRole('menuitem', { name: 'Pause the story' }).click();
    await page.getByText('This story is paused.').waitFor();
    expect(await input(page).count()).toBe(0);
    await accessible(page);
    await picture(page, 'paused');
    await page.getByRole('button', { name: 'Go on' }).click();
    await input(page).waitFor();
    expect(session.session.status).toBe('active');
  });

  it('ends when it is told to, and stays to be read', async () => {
    const { page, session } = await begun(server, browser);
    await page.getByRole('button', { name: 'Reading settings' }).click();
    await page.getByRole('menuitem', { name: 'End the story' }).click();
    await page
      .getByRole('dialog', { name: 'End this story?' })
      .getByRole('button', { name: 'End it' })
      .click();
    await page.getByText('This story has ended.').waitFor();
    await story(page).getByText('The clerk blots your name').waitFor();
    await accessible(page);
    await picture(page, 'ended');
    expect(session.session.status).toBe('ended');
    await page.getByRole('button', { name: 'All stories' }).click();
    await page.getByRole('heading', { name: 'Go on reading' }).waitFor();
  });
});

describe('a story that asks, and one that listens', () => {
  it('a run that waits is answered, or left; what it asks is drawn from its schema', async () => {
    const { page, session } = await begun(server, browser);
    session.suspend('s1', 'Whom do you follow?', { enum: ['Odran', '龙胆'] });
    const asks = page.getByRole('region', { name: 'The story waits for your answer' });
    await asks.getByText('Whom do you follow?').waitFor();
    await accessible(page);
    await picture(page, 'waiting');
    await asks.getByRole('button', { name: '龙胆' }).click();
    await story(page).getByText('"龙胆"').waitFor();
    await asks.waitFor({ state: 'detached' });

    const oath = {
      type: 'object',
      required: ['oath'],
      properties: { oath: { title: 'Your oath', type: 'string' } },
    };
    session.suspend('s2', 'What do you swear?', oath);
    await page.reload();
    await asks.getByRole('button', { name: 'Continue' }).click();
    await asks.getByText('Please fill this in.').waitFor();
    await asks.getByRole('textbox', { name: 'Your oath' }).fill('By the seventh lamp');
    await asks.getByRole('button', { name: 'Continue' }).click();
    await story(page).getByText('{"oath":"By the seventh lamp"}').waitFor();

    session.suspend('s3', 'And now?', null);
    await asks.getByRole('button', { name: 'Leave it unanswered' }).click();
    await asks.waitFor({ state: 'detached' });
  });

  it('a line can be said into the running turn; it is part of it', async () => {
    const { page, session } = await begun(server, browser);
    server.holdAfter = 8;
    await say(page, 'I wait');
    await story(page).locator('.passage--streaming').waitFor();
    await input(page).fill('Odran, look out!');
    await accessible(page);
    await picture(page, 'interjecting');
    await page.getByRole('button', { name: 'Say it now' }).click();
    expect(await input(page).inputValue()).toBe('');
    await story(page).getByText('Said into the turn').waitFor();
    server.release();
    await rest(page);
    await story(page).getByText('Said into the turn').waitFor({ state: 'detached' });
    expect(await story(page).getByText('Odran, look out!').count()).toBe(1);
    expect(session.messages.map((m) => m.source).slice(-3)).toEqual([
      'player',
      'player-interjection',
      'story',
    ]);
  });
});

describe('around the story', () => {
  it('panels with data and without, one that fails and one that is refused; the others go on', async () => {
    const { page } = await begun(server, browser);
    const tab = (name: string) => page.getByRole('tab', { name, exact: true });
    const body = page.getByRole('tabpanel');
    await tab('Codex').click();
    await body.getByText('The seventh lamp').waitFor();
    await accessible(page);
    await picture(page, 'panel');
    await tab('Broken').click();
    await body.getByText('This part could not be drawn.').waitFor();
    await picture(page, 'panel-broken');
    await tab('Unknown').click();
    await body.getByText('not described in a way this page understands').waitFor();
    await tab('People').click();
    await body.getByText('Odran').click();
    await body.getByText('Keeper of the lamps one to nine.').waitFor();
    await tab('World').click();
    await body.getByRole('heading', { name: 'Lanternreach' }).waitFor();
    await accessible(page);
    // The fault was the panel's own.
    await say(page, 'I go on');
    await rest(page);
    expect(
      browser.complaints
        .splice(0)
        .every((c) => c.includes('map is not a function') || c.includes('json-render')),
    ).toBe(true);
  });

  it('the panel without data says so', async () => {
    const session = server.create('lanternreach', 'en');
    const page = await browser.page(`${server.url}/sessions/${session.id}`);
    await page.getByRole('tab', { name: 'Codex' }).click();
    await page.getByText('What you learn about this place is gathered here.').waitFor();
    await picture(page, 'panel-empty');
    await page.getByLabel('Name').waitFor();
  });

  it('the offline storyteller says what it is', async () => {
    server.offline = true;
    const { page } = await begun(server, browser);
    await page.getByText('Offline storyteller').click();
    await page.getByText('No model is connected.').waitFor();
    await accessible(page);
    await picture(page, 'offline');
  });

  it('panels can be put away, and stay away', async () => {
    const { page } = await begun(server, browser);
    await page.getByRole('button', { name: 'Hide what is around the story' }).click();
    expect(await page.getByRole('tablist').count()).toBe(0);
    await picture(page, 'story-alone');
    await page.reload();
    await story(page).waitFor();
    expect(await page.getByRole('tablist').count()).toBe(0);
    await page.getByRole('button', { name: 'Show what is around the story' }).click();
    await page.getByRole('tablist').waitFor();
  });
});

describe('elsewhere', () => {
  it('at night, with a choice open', async () => {
    const night = await Browser.open({ night: true });
    const { page } = await begun(server, night);
    server.next = 'choice';
    await say(page, 'I look at him');
    await page.getByRole('group', { name: /The tide turns/ }).waitFor();
    await accessible(page);
    await picture(page, 'night');
    server.next = 'fail';
    await page.getByRole('button', { name: /Climb down/ }).click();
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    await accessible(page);
    await picture(page, 'night-failure');
    expect(night.complaints).toEqual([]);
    await night.close();
  });

  it('on a phone of 360 pixels in Chinese', async () => {
    const phone = await Browser.open({
      width: 360,
      height: 740,
      locale: 'zh-CN',
      hasTouch: true,
      isMobile: true,
    });
    const { page, session } = await begun(server, phone, 'zh-CN');
    await fits(page);
    await accessible(page);
    await picture(page, 'phone-zh');
    server.holdAfter = 6;
    await say(page, '我看见龙胆来了');
    await story(page).getByText('你走近时').waitFor();
    await fits(page);
    await accessible(page);
    await picture(page, 'phone-zh-streaming');
    server.release();
    await guide(page, session).waitFor();
    await page.getByRole('button', { name: '显示故事周边' }).click();
    const sheet = page.getByRole('dialog', { name: '故事周边' });
    await sheet.getByRole('tab', { name: '人物' }).click();
    await sheet.getByText('龙胆').waitFor();
    await accessible(page);
    await picture(page, 'phone-zh-sheet');
    await page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'detached' });
    expect(phone.complaints).toEqual([]);
    await phone.close();
  });

  it('at 200 % zoom', async () => {
    // A window of 1280 × 860 zoomed to 200 % has 640 × 430 pixels of CSS.
    const zoomed = await Browser.open({ width: 640, height: 430, deviceScaleFactor: 2 });
    const { page } = await begun(server, zoomed);
    await fits(page);
    await accessible(page);
    await picture(page, 'zoom-200');
    expect(await input(page).isVisible()).toBe(true);
    const box = await story(page).boundingBox();
    expect(box?.height).toBeGreaterThan(200);
    await zoomed.close();
  });
});

it('nothing went wrong on the way', () => {
  expect(browser.complaints).toEqual([]);
});
