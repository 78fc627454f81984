import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { backoffMs } from '../../src/session/backoff';
import { Connection, type Link, type Socket } from '../../src/session/connection';
import { reduce } from '../../src/session/reducer';
import { emptyState, type SessionState } from '../../src/session/state';
import * as b from './build';

class FakeSocket implements Socket {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: (() => void) | null = null;
  sent: Record<string, unknown>[] = [];
  closed = false;
  send(data: string): void {
    this.sent.push(JSON.parse(data) as Record<string, unknown>);
  }
  close(): void {
    this.closed = true;
  }
  hear(message: unknown): void {
    this.onmessage?.({ data: typeof message === 'string' ? message : JSON.stringify(message) });
  }
}

function setUp(exists = true) {
  const sockets: FakeSocket[] = [];
  const links: Link[] = [];
  let state: SessionState = emptyState();
  const connection = new Connection({
    open: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    },
    exists: () => Promise.resolve(exists),
    random: () => 0,
    state: () => state,
    dispatch: (input) => {
      state = reduce(state, input);
    },
    onLink: (link) => links.push(link),
  });
  connection.start();
  return {
    connection,
    sockets,
    links,
    get last() {
      return sockets.at(-1)!;
    },
    get state() {
      return state;
    },
    say(id: string, text: string) {
      state = b.say(state, id, text);
      connection.flush();
    },
    greet(message: unknown = b.welcome()) {
      const socket = sockets.at(-1)!;
      socket.onopen?.();
      socket.hear(message);
    },
  };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the connection', () => {
  it('says hello without numbers at first and with them after a drop', () => {
    const t = setUp();
    t.greet();
    expect(t.last.sent).toEqual([{ type: 'hello' }]);
    expect(t.links).toEqual(['live']);
    t.last.onclose?.();
    expect(t.links).toEqual(['live', 'lost']);
    vi.advanceTimersByTime(200);
    expect(t.sockets).toHaveLength(2);
    t.greet(b.resumed(10));
    expect(t.last.sent).toEqual([{ type: 'hello', lastSeq: 10, lastId: 'e10', incarnation: b.INCARNATION }]);
    expect(t.links).toEqual(['live', 'lost', 'live']);
  });

  it('writes commands only once it is greeted, each once, and again after a drop', () => {
    const t = setUp();
    t.last.onopen?.();
    t.say('r1', 'early');
    expect(t.last.sent).toEqual([{ type: 'hello' }]);
    t.last.hear(b.welcome());
    const command = { type: 'submit_actions', requestId: 'r1', payload: { actions: [{ text: 'early' }] } };
    expect(t.last.sent).toEqual([{ type: 'hello' }, command]);
    t.connection.flush();
    expect(t.last.sent).toHaveLength(2);
    t.last.onclose?.();
    vi.advanceTimersByTime(200);
    t.greet(b.resumed(10));
    expect(t.last.sent[1]).toEqual(command);
  });

  it('pings when it hears nothing, and gives a silent line up', () => {
    const t = setUp();
    t.greet();
    vi.advanceTimersByTime(20_000);
    expect(t.last.sent.at(-1)).toEqual({ type: 'ping' });
    t.last.hear({ type: 'pong' });
    vi.advanceTimersByTime(19_999);
    expect(t.last.sent).toHaveLength(2);
    vi.advanceTimersByTime(1);
    expect(t.last.sent).toHaveLength(3);
    vi.advanceTimersByTime(10_000);
    expect(t.sockets[0]?.closed).toBe(true);
    expect(t.links.at(-1)).toBe('lost');
  });

  it('gives up a socket that opens and never greets', () => {
    const t = setUp();
    t.last.onopen?.();
    vi.advanceTimersByTime(10_000);
    expect(t.last.closed).toBe(true);
    vi.advanceTimersByTime(200);
    expect(t.sockets).toHaveLength(2);
  });

  it('waits for the view after a reset, and asks for one when none comes', () => {
    const t = setUp();
    t.greet();
    t.last.hear({ type: 'system.reset', reason: 'slow-consumer' });
    t.last.hear(b.frame(11));
    t.last.hear(b.delta('x', 1, 'a'));
    expect(t.sockets).toHaveLength(1);
    t.last.hear(b.welcome(b.view({ seq: 40 })));
    expect(t.state.position?.seq).toBe(40);
    expect(t.state.stale).toBe(false);

    t.last.hear({ type: 'system.reset', reason: 'gap' });
    vi.advanceTimersByTime(5_000);
    expect(t.links.at(-1)).toBe('lost');
    vi.advanceTimersByTime(200);
    t.greet(b.welcome(b.view({ seq: 41 })));
    expect(t.last.sent[0]).toEqual({ type: 'hello' });
    expect(t.state.position?.seq).toBe(41);
  });

  it.each([
    ['a gap', () => [b.resumed(20), b.frame(22)]],
    ['a number from another life', () => [{ ...b.frame(10), lastId: 'other' }]],
    ['a frame it cannot read', () => [{ type: 'frame', seq: 'x' }]],
    ['something that is not JSON', () => ['<html>']],
    ['a resume it does not believe', () => [b.resumed(3)]],
  ])('starts afresh after %s', (_, messages) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const t = setUp();
    t.greet();
    for (const m of messages()) t.last.hear(m);
    expect(t.state.stale).toBe(true);
    vi.advanceTimersByTime(200);
    t.greet(b.welcome(b.view({ seq: 50 })));
    expect(t.last.sent[0]).toEqual({ type: 'hello' });
    expect(t.state.position?.seq).toBe(50);
    expect(t.links.at(-1)).toBe('live');
    warn.mockRestore();
  });

  it('comes back after a server that goes away, with the command', () => {
    const t = setUp();
    t.greet();
    t.say('r1', 'hello');
    t.last.hear({ type: 'error', requestId: 'r1', code: 'server_shutting_down', error: 'bye' });
    expect(t.sockets[0]?.closed).toBe(true);
    vi.advanceTimersByTime(200);
    t.greet(b.resumed(10));
    expect(t.last.sent[1]).toMatchObject({ requestId: 'r1', base: 10 });
  });

  it('waits longer each time, and not at all when asked', () => {
    const t = setUp();
    for (let i = 0; i < 3; i++) {
      t.last.onclose?.();
      vi.advanceTimersByTime(backoffMs(i, () => 0) - 1);
      expect(t.sockets).toHaveLength(i + 1);
      vi.advanceTimersByTime(1);
      expect(t.sockets).toHaveLength(i + 2);
    }
    t.last.onclose?.();
    t.connection.retryNow();
    expect(t.sockets).toHaveLength(5);
    t.connection.retryNow();
    expect(t.sockets).toHaveLength(5);
  });

  it('says that a session is gone when the server says so', async () => {
    const t = setUp(false);
    t.last.onclose?.();
    await vi.advanceTimersByTimeAsync(0);
    expect(t.links.at(-1)).toBe('gone');
    vi.advanceTimersByTime(60_000);
    expect(t.sockets).toHaveLength(1);
    t.connection.retryNow();
    expect(t.sockets).toHaveLength(1);
  });

  it('hears nothing once it is closed', () => {
    const t = setUp();
    t.greet();
    const before = t.state;
    const { onmessage } = t.last;
    t.connection.close();
    expect(t.last.closed).toBe(true);
    expect(t.last.onmessage).toBeNull();
    onmessage?.({ data: JSON.stringify(b.frame(11)) });
    vi.advanceTimersByTime(60_000);
    expect(t.sockets).toHaveLength(1);
    expect(t.state).toBe(before);
  });

  it('writes stop only to a server that listens', () => {
    const t = setUp();
    t.connection.stop();
    expect(t.last.sent).toEqual([]);
    t.greet();
    t.connection.stop();
    expect(t.last.sent.at(-1)).toEqual({ type: 'stop' });
  });
});

describe('backoffMs', () => {
  it('doubles up to fifteen seconds, and half of it is chance', () => {
    expect([0, 1, 2, 3, 10, 1000].map((n) => backoffMs(n, () => 0))).toEqual([
      200, 400, 800, 1600, 7500, 7500,
    ]);
    expect([0, 1, 1000].map((n) => backoffMs(n, () => 0.999999))).toEqual([400, 800, 15_000]);
  });
});
