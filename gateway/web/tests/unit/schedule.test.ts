import fc from 'fast-check';
import { describe, expect, it, vi, beforeEach, afterEach } from 'vitest';
import type { Message } from '../../src/protocol/types';
import { SessionStore } from '../../src/session/store';
import type { SessionState } from '../../src/session/state';
import { ModelServer } from './modelServer';

/**
 * Properties over whole schedules: whatever is delivered, repeated, dropped or lost in between, two clients that
 * saw the same stream hold the same book, and every line that was typed is in the story exactly once.
 */

class MemoryStorage implements Storage {
  private readonly map = new Map<string, string>();
  get length(): number {
    return this.map.size;
  }
  clear(): void {
    this.map.clear();
  }
  getItem(key: string): string | null {
    return this.map.get(key) ?? null;
  }
  key(index: number): string | null {
    return [...this.map.keys()][index] ?? null;
  }
  removeItem(key: string): void {
    this.map.delete(key);
  }
  setItem(key: string, value: string): void {
    this.map.set(key, value);
  }
}

function client(server: ModelServer, storage = new MemoryStorage()): SessionStore {
  const store = new SessionStore('s', {
    open: () => server.open(),
    exists: () => Promise.resolve(true),
    storage,
    soon: (redraw) => {
      redraw();
    },
    random: () => 0,
  });
  store.start();
  return store;
}

/** Moves everything that can move, turns included, until nothing is left to do. */
function settle(server: ModelServer): void {
  for (let i = 0; i < 2000; i++) {
    vi.advanceTimersByTime(1000);
    let moved = false;
    for (const s of [...server.sockets]) while (s.moveUp() || s.moveDown()) moved = true;
    if (moved) continue;
    if (server.idle) return;
    server.step(true);
  }
  throw new Error('the schedule does not come to rest');
}

function told(messages: Message[] | undefined) {
  return messages?.map((m) => ({ turnId: m.turnId, role: m.role, text: m.text }));
}

function essence(state: SessionState) {
  const { book, work, position } = state;
  return {
    position,
    messages: told(book?.messages),
    // A page that was loaded in mid-turn knows the player's line by its text, a live one by its message.
    execution: { ...book?.execution, turnId: undefined, origin: undefined, startedAt: undefined },
    work,
    stale: state.stale,
    outbox: state.outbox,
  };
}

type Step =
  | { do: 'say' }
  | { do: 'foreign' }
  | { do: 'turn'; ok: boolean }
  | { do: 'empty' }
  | { do: 'up' }
  | { do: 'down'; times: number }
  | { do: 'drop' }
  | { do: 'wait' }
  | { do: 'reload' };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Step>({ do: 'say' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'foreign' }) },
  { weight: 8, arbitrary: fc.boolean().map<Step>((ok) => ({ do: 'turn', ok })) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'empty' }) },
  { weight: 10, arbitrary: fc.constant<Step>({ do: 'up' }) },
  { weight: 10, arbitrary: fc.integer({ min: 1, max: 3 }).map<Step>((times) => ({ do: 'down', times })) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'drop' }) },
  { weight: 4, arbitrary: fc.constant<Step>({ do: 'wait' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'reload' }) },
);

describe('any schedule', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('gives the same book as reading straight through, and each line once', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), fc.boolean(), (steps, namesHead) => {
        const server = new ModelServer(namesHead);
        const storage = new MemoryStorage();
        let store = client(server, storage);
        let said = 0;
        for (const s of steps) {
          const socket = server.sockets.at(-1);
          if (s.do === 'say') {
            said++;
            const text = `line ${String(said)}`;
            store.dispatch({
              kind: 'submit',
              type: 'submit_actions',
              requestId: `r${String(said)}`,
              payload: { actions: [{ text }] },
            });
          } else if (s.do === 'foreign') server.foreign('foreign');
          else if (s.do === 'turn') server.step(s.ok);
          else if (s.do === 'empty') server.appendEmpty();
          else if (s.do === 'up') socket?.moveUp();
          else if (s.do === 'down') socket?.moveDown(s.times);
          else if (s.do === 'drop') socket?.drop();
          else if (s.do === 'wait') vi.advanceTimersByTime(700);
          else if (s.do === 'reload') {
            socket?.drop();
            store.close();
            store = client(server, storage);
          }
        }
        settle(server);

        const straight = client(server);
        settle(server);
        const state = store.getSnapshot().state;
        expect(essence(state)).toEqual(essence(straight.getSnapshot().state));
        expect(told(state.book?.messages)).toEqual(told(server.view().messages));

        // Each line is in the story once, or was refused because the story moved and is in the input again.
        const mine = server.lines().filter((l) => l !== 'foreign');
        const returned = state.draft.split('\n').filter((l) => l !== '');
        expect([...mine, ...returned].sort()).toEqual(
          Array.from({ length: said }, (_, i) => `line ${String(i + 1)}`).sort(),
        );
      }),
      { numRuns: 400 },
    );
  });

  it('BL-09: 50 events, a drop in mid-answer, 7 more: exactly those, in order, none twice', () => {
    const server = new ModelServer();
    const store = client(server);
    const seen: number[] = [];
    store.subscribe(() => {
      const seq = store.getSnapshot().state.position?.seq;
      if (seq !== undefined && seq !== seen.at(-1)) seen.push(seq);
    });
    for (let i = 0; i < 10; i++) server.foreign(`line ${String(i)}`);
    settle(server);
    const before = server.seq;
    expect(before).toBe(50);
    server.foreign('in mid-answer');
    server.step(true);
    server.step(true);
    for (const s of [...server.sockets]) {
      while (s.moveDown());
      s.drop();
    }
    for (let i = 0; i < 4; i++) server.step(true);
    server.foreign('missed');
    settle(server);
    expect(seen).toEqual([...new Set(seen)]);
    expect(seen.filter((n) => n > before)).toEqual(server.log.map((f) => f.seq).filter((n) => n > before));
    expect(store.getSnapshot().state.book?.messages).toEqual(server.view().messages);

    // A number from another life gives a fresh view and not a silent gap.
    server.restore('life-2');
    settle(server);
    expect(store.getSnapshot().state.position?.incarnation).toBe('life-2');
    expect(store.getSnapshot().state.stale).toBe(false);
  });

  it('BL-10: two tabs at one place: one line is accepted, the other tab gets the news and keeps its text', () => {
    const server = new ModelServer();
    const [a, b] = [client(server), client(server)];
    settle(server);
    a.send('submit_actions', { actions: [{ text: 'from A' }] }, 'a1');
    b.send('submit_actions', { actions: [{ text: 'from B' }] }, 'b1');
    // A's line arrives and its turn is over before B's arrives, while B has heard nothing yet.
    const [sa, sb] = server.sockets;
    while (sa?.moveUp());
    while (!server.idle) server.step(true);
    while (sb?.moveUp());
    settle(server);
    expect(server.lines()).toEqual(['from A']);
    expect(b.getSnapshot().state.draft).toBe('from B');
    expect(b.getSnapshot().state.notice?.code).toBe('conflict');
    expect(b.getSnapshot().state.book).toEqual(a.getSnapshot().state.book);
  });

  it('BL-11: a reload in mid-send repeats the same request, two ids with the same text are two', () => {
    const server = new ModelServer();
    const storage = new MemoryStorage();
    const first = client(server, storage);
    settle(server);
    first.send('submit_actions', { actions: [{ text: 'wait' }] }, 'r1');
    // The server has it, its answer is lost, the page is reloaded: the new page sends the same request.
    const socket = server.sockets[0];
    while (socket?.moveUp());
    first.close();
    const second = client(server, storage);
    settle(server);
    expect(server.lines()).toEqual(['wait']);
    expect(second.getSnapshot().state.outbox).toEqual([]);
    second.send('submit_actions', { actions: [{ text: 'wait' }] }, 'r2');
    second.send('submit_actions', { actions: [{ text: 'wait' }] }, 'r3');
    settle(server);
    expect(server.lines()).toEqual(['wait', 'wait', 'wait']);
    expect(storage.length).toBe(0);
  });
});
