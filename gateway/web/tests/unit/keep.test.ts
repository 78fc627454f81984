// @vitest-environment jsdom
import { describe, expect, it, vi } from 'vitest';
import { loadKept, saveKept } from '../../src/session/keep';
import { newRequestId, openingRequestId } from '../../src/session/requestId';
import { neverBegun, waitsToBegin, blockedSetup } from '../../src/pages/begin';
import * as b from './build';

describe('what outlives a reload', () => {
  it('is the text and the commands, and nothing when there is none', () => {
    const state = b.say({ ...b.greeted(), draft: '我看见龙胆' }, 'r1', 'hello');
    saveKept(sessionStorage, 's1', state);
    expect(loadKept(sessionStorage, 's1')).toEqual({ draft: '我看见龙胆', outbox: state.outbox });
    expect(loadKept(sessionStorage, 's2')).toBeUndefined();
    saveKept(sessionStorage, 's1', b.greeted());
    expect(sessionStorage).toHaveLength(0);
  });

  it.each(['', 'null', '7', '{', '{"outbox":7}', '{"outbox":[null]}'])('bears %j in the storage', (raw) => {
    sessionStorage.setItem('covel.kept.s', raw);
    expect(loadKept(sessionStorage, 's')?.outbox ?? []).toEqual([]);
  });

  it('is no reason to fail when the storage refuses', () => {
    const setItem = vi.fn(() => {
      throw new Error('full');
    });
    saveKept({ setItem } as unknown as Storage, 's', b.say(b.greeted(), 'r1', 'hello'));
    expect(setItem).toHaveBeenCalledOnce();
  });
});

describe('request ids', () => {
  const grammar = /^[A-Za-z0-9._:-]{1,64}$/;
  it('are fresh and fit the grammar', () => {
    const ids = new Set(Array.from({ length: 100 }, newRequestId));
    expect(ids.size).toBe(100);
    for (const id of ids) expect(id).toMatch(grammar);
  });
  it('of an opening are the same for the same life of a session', () => {
    expect(openingRequestId('a/b 龙')).toMatch(grammar);
    expect(openingRequestId('x'.repeat(200))).toMatch(grammar);
    expect(openingRequestId('life-1')).toBe(openingRequestId('life-1'));
    expect(openingRequestId('life-1')).not.toBe(openingRequestId('life-2'));
  });
});

describe('a session that waits to be begun', () => {
  const fresh = b.view({ session: b.session({ phase: 'setup' }) });
  it('is one in set-up where nobody is asked and nothing runs', () => {
    expect(neverBegun(b.greeted(fresh))).toBe(true);
    expect(waitsToBegin(b.greeted(b.view()))).toBe(true);
    expect(waitsToBegin(b.greeted(b.view({ messages: [b.message('m', 1)] })))).toBe(false);
    expect(
      waitsToBegin(b.greeted({ ...fresh, session: b.session({ phase: 'setup', status: 'paused' }) })),
    ).toBe(false);
    const asked = { ...fresh, messages: [b.message('m', 1, { interactions: [b.form('f', 't1')] })] };
    expect(waitsToBegin(b.greeted(asked))).toBe(false);
    expect(waitsToBegin(b.feed(b.greeted(fresh), b.frame(11, b.started('r', 'x'))))).toBe(false);
    expect(waitsToBegin(b.say(b.greeted(fresh), 'r', 'x'))).toBe(false);
  });
  it('is not begun by itself after it failed or ended once', () => {
    expect(neverBegun(b.greeted({ ...fresh, execution: { state: 'failed', error: 'x' } }))).toBe(false);
    expect(waitsToBegin(b.greeted({ ...fresh, execution: { state: 'failed', error: 'x' } }))).toBe(false);
    expect(neverBegun(b.greeted({ ...fresh, execution: { state: 'completed' } }))).toBe(false);
    expect(waitsToBegin(b.greeted({ ...fresh, execution: { state: 'completed' } }))).toBe(true);
  });
  it('tells why its set-up is blocked', () => {
    const blocked = b.session({
      setupRuntimes: { a: { status: 'done' }, b: { status: 'blocked', lastError: 'no model' } },
    });
    expect(blockedSetup(b.greeted(b.view({ session: blocked })))).toEqual({
      runtimeId: 'b',
      reason: 'no model',
    });
    expect(blockedSetup(b.greeted())).toBeUndefined();
  });
});
