import { describe, expect, it } from 'vitest';
import type { Suspension } from '../../src/protocol/types';
import { interactionOf, reduce, spokenText } from '../../src/session/reducer';
import { emptyState, isBusy, type SessionState } from '../../src/session/state';
import {
  accepted,
  completed,
  delta,
  feed,
  form,
  frame,
  greeted,
  message,
  narrated,
  playerLine,
  refusal,
  resumed,
  say,
  session,
  started,
  streamed,
  texts,
  transient,
  turnCompleted,
  view,
  welcome,
} from './build';

const job = { jobId: 'j1', runtimeId: 'clerk', pluginId: 'clerk' };

describe('a turn', () => {
  it('shows the accepted line, streams, and replaces the stream with the final text', () => {
    let s = say(greeted(), 'r1', 'I look at the sea');
    expect(s.outbox).toMatchObject([{ status: 'unsent', command: { requestId: 'r1', base: 10 } }]);

    s = reduce(s, { kind: 'sent', requestId: 'r1' });
    s = feed(s, { type: 'ack', requestId: 'r1', status: 'queued', n: 2 });
    expect(s.outbox).toMatchObject([{ status: 'queued', ahead: 2 }]);

    s = feed(s, { type: 'ack', requestId: 'r1', status: 'accepted', version: 12 });
    expect(s.outbox).toHaveLength(1);
    s = feed(s, frame(12, accepted('r1', playerLine('p1', 11, 'I look at the sea')), started('r1', 'x1')));
    expect(s.outbox).toEqual([]);
    expect(s.pending.map((p) => p.message.text)).toEqual(['I look at the sea']);
    expect(texts(s)).toEqual([]);
    expect(isBusy(s)).toBe(true);

    s = feed(s, delta('x1', 1, 'The sea '), delta('x1', 2, 'is grey.'));
    expect(streamed(s)).toBe('The sea is grey.');

    s = feed(
      s,
      frame(
        16,
        narrated('r1', message('m1', 13, { text: 'The sea is grey.', runtimeId: 'narrator' })),
        turnCompleted('r1', 'x1'),
        completed('r1'),
      ),
    );
    expect(texts(s)).toEqual(['I look at the sea', 'The sea is grey.']);
    expect(s.pending).toEqual([]);
    expect(s.work).toBeUndefined();
    expect(isBusy(s)).toBe(false);
    expect(s.book?.execution.state).toBe('completed');
  });

  it('withdraws what was streamed and keeps the text when it does not commit', () => {
    let s = feed(
      greeted(),
      frame(12, accepted('r1', playerLine('p1', 11, '我看见龙胆来了')), started('r1', 'x1')),
      delta('x1', 1, 'A half sen'),
      frame(
        13,
        turnCompleted('r1', 'x1', false),
        completed('r1', false, {
          error: 'the model did not answer',
          draft: { text: 'A half sen' },
          retry: { type: 'retry_turn', payload: {} },
        }),
      ),
    );
    expect(texts(s)).toEqual([]);
    expect(s.work).toBeUndefined();
    expect(s.pending).toEqual([]);
    expect(s.book?.execution).toEqual({
      state: 'failed',
      requestId: 'r1',
      error: 'the model did not answer',
      draft: { text: 'A half sen' },
      retry: { type: 'retry_turn', payload: {} },
      input: { text: '我看见龙胆来了' },
    });

    // Progress that was on its way when the turn ended does not wake it.
    s = feed(s, delta('x1', 2, 'tence.'));
    expect(s.work).toBeUndefined();
    expect(isBusy(s)).toBe(false);
  });

  it.each([
    ['aborted-by-player', 'failed'],
    ['interrupted', 'interrupted'],
  ])('names how a turn ended that was cut off: %s', (abortReason, state) => {
    const s = feed(
      greeted(),
      frame(12, accepted('r1', playerLine('p1', 11, 'go')), started('r1', 'x1')),
      frame(13, completed('r1', false, { abortReason, input: { text: 'go' } })),
    );
    expect(s.book?.execution).toMatchObject({ state, abortReason });
    expect(s.book?.execution.input).toEqual({ text: 'go' });
  });

  it('keeps going through the executions of one request, with one start time', () => {
    let s = feed(greeted(), frame(12, started('r1', 'x1')), frame(14, turnCompleted('r1', 'x1')));
    expect(isBusy(s)).toBe(true);
    const second = started('r1', 'x2');
    s = feed(s, frame(15, { ...second, timestamp: '2026-01-01T00:09:00Z' }), delta('x2', 1, 'Opening'));
    expect(s.book?.execution.startedAt).toBe('2026-01-01T00:00:00Z');
    expect(streamed(s)).toBe('Opening');
    // The first execution's stragglers are not for the second.
    expect(streamed(feed(s, delta('x1', 9, 'ghost')))).toBe('Opening');
  });

  it('commits the line with the first execution of its request that commits', () => {
    const s = feed(
      greeted(),
      frame(12, accepted('r1', playerLine('p1', 11, 'I am 陆青云')), started('r1', 'x1')),
      frame(14, turnCompleted('r1', 'x1')),
      frame(15, started('r1', 'x2')),
      frame(16, completed('r1', false, { error: 'the opening failed' })),
    );
    expect(texts(s)).toEqual(['I am 陆青云']);
    expect(s.book?.execution.state).toBe('failed');
  });

  it('drops a draft that was rejected in mid-stream', () => {
    const s = feed(
      greeted(),
      frame(12, started('r1', 'x1')),
      delta('x1', 1, 'bad draft'),
      delta('x1', 2, 'Good', true),
      delta('x1', 3, ' draft'),
    );
    expect(streamed(s)).toBe('Good draft');
  });

  it('follows the steps of the runtimes', () => {
    const base = { runtimeId: 'narrator', pluginId: 'narrator' };
    let s = feed(
      greeted(),
      frame(12, started('r1', 'x1')),
      transient('x1', 0, { type: 'turn.settling', payload: { jobs: [job] } }),
    );
    expect(s.work?.settling).toBe(true);
    s = feed(
      s,
      transient('x1', 2, {
        type: 'runtime.started',
        payload: { ...base, label: 'The narrator is writing', stage: 'narrative' },
      }),
      transient('x1', 3, {
        type: 'tool.calling',
        payload: { runtimeId: 'narrator', toolName: 'get-character' },
      }),
      transient('x1', 4, { type: 'llm.waiting', payload: { runtimeId: 'narrator', waitMs: 12_000 } }),
    );
    expect(s.work?.waitMs).toBe(12_000);
    s = feed(s, transient('x1', 5, { type: 'runtime.completed', payload: base }));
    expect(s.work?.waitMs).toBeUndefined();
    expect(s.work?.settling).toBe(false);
    expect(s.work?.steps).toEqual([
      { ...base, label: 'The narrator is writing', stage: 'narrative', status: 'success' },
    ]);
    s = feed(
      s,
      transient('x1', 6, {
        type: 'runtime.started',
        payload: { runtimeId: 'guide', pluginId: 'guide', label: 'Guide', stage: 'post-turn' },
      }),
      transient('x1', 7, { type: 'runtime.failed', payload: { runtimeId: 'guide', pluginId: 'guide' } }),
      transient('x1', 8, {
        type: 'runtime.started',
        payload: { runtimeId: 'codex', pluginId: 'codex', label: 'Codex', stage: 'post-turn' },
      }),
      transient('x1', 9, { type: 'runtime.skipped', payload: { runtimeId: 'codex', pluginId: 'codex' } }),
    );
    expect(s.work?.steps.map((x) => x.status)).toEqual(['success', 'failed', 'skipped']);
  });
});

describe('every other committed event', () => {
  it('interaction.requested hangs a form on its message and makes the earlier one void', () => {
    let s = feed(
      greeted(),
      frame(11, {
        type: 'interaction.requested',
        payload: { messageId: 'm1', interaction: form('create', 't1'), message: message('m1', 11) },
      }),
    );
    expect(s.book?.messages[0]?.interactions).toEqual([form('create', 't1')]);
    s = feed(
      s,
      frame(12, {
        type: 'interaction.requested',
        payload: { messageId: 'm2', interaction: form('create', 't2'), message: message('m2', 12) },
      }),
    );
    expect(s.book?.messages.map((m) => m.interactions?.map((i) => i.status))).toEqual([['void'], ['open']]);
  });

  it('interaction.requested without a known message makes room for the form', () => {
    const s = feed(
      greeted(),
      frame(11, {
        type: 'interaction.requested',
        payload: { messageId: 'mX', interaction: form('f', 't1') },
      }),
    );
    expect(s.book?.messages).toMatchObject([{ id: 'mX', text: '', interactions: [{ interactionId: 'f' }] }]);
  });

  it('message.appended after interaction.requested keeps the form', () => {
    const s = feed(
      greeted(),
      frame(
        11,
        { type: 'interaction.requested', payload: { messageId: 'm1', interaction: form('f', 't1') } },
        { type: 'message.appended', payload: { message: message('m1', 11, { text: 'Welcome.' }) } },
      ),
    );
    expect(s.book?.messages).toMatchObject([{ text: 'Welcome.', interactions: [{ interactionId: 'f' }] }]);
  });

  it('interaction.submitted answers the form with the values', () => {
    const s = feed(
      greeted(view({ messages: [message('m1', 9, { interactions: [form('f', 't1')] })] })),
      frame(11, {
        type: 'interaction.submitted',
        payload: { results: [{ turnId: 't1', interactionId: 'f', values: { name: 'Élodie' } }] },
      }),
    );
    expect(s.book?.messages[0]?.interactions).toMatchObject([
      { status: 'answered', values: { name: 'Élodie' } },
    ]);
  });

  it('ui.rendered hangs a block on its message, once', () => {
    const event = {
      type: 'ui.rendered' as const,
      payload: {
        messageId: 'm1',
        block: { parts: [{ id: 'a', type: 'text', status: 'success' as const, content: 'x' }] },
      },
    };
    const s = feed(greeted(view({ messages: [message('m1', 9)] })), frame(11, event), frame(12, event));
    expect(s.book?.messages[0]?.blocks).toHaveLength(1);
  });

  it('plugin-data.changed sets and deletes, whatever the names', () => {
    const change = (key: string, value: unknown, operation: 'set' | 'delete' = 'set') => ({
      namespace: 'entries',
      key,
      value,
      operation,
    });
    const s = feed(
      greeted(view({ pluginData: { codex: { entries: { old: 1 } } } })),
      frame(11, {
        type: 'plugin-data.changed',
        payload: {
          pluginId: 'codex',
          changes: [
            change('龙胆', { title: '龙胆' }),
            change('old', undefined, 'delete'),
            change('__proto__', { polluted: true }),
          ],
        },
      }),
    );
    const entries = s.book?.pluginData['codex']?.['entries'];
    expect(Object.keys(entries ?? {})).toEqual(['龙胆', '__proto__']);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(Object.getPrototypeOf(entries)).toBe(Object.prototype);
  });

  it('character.upserted adds and replaces; the schema and the session are replaced', () => {
    const c = { id: 'c1', name: '陆青云', type: 'player' };
    const s = feed(
      greeted(),
      frame(11, { type: 'character.upserted', payload: { character: c } }),
      frame(12, { type: 'character.upserted', payload: { character: { ...c, description: 'a fisher' } } }),
      frame(13, { type: 'character-schema.changed', payload: { schema: { a: 1 } } }),
      frame(14, { type: 'session.changed', payload: { session: session({ phase: 'setup' }) } }),
      frame(15, { type: 'event.emitted', payload: { topic: 'scene.set' } }),
    );
    expect(s.book?.characters).toEqual([{ ...c, description: 'a fisher' }]);
    expect(s.book?.characterSchema).toEqual({ a: 1 });
    expect(s.book?.session.phase).toBe('setup');
    expect(s.position?.seq).toBe(15);
  });

  it('a run that waits is open until it is answered, closed, or asks something else', () => {
    const asked = (id: string): Suspension => ({
      id,
      turnId: 't1',
      runtimeId: 'guide/ask',
      pluginId: 'guide',
      reason: '跟谁走？',
      resumeSchema: null,
    });
    const ids = (state: SessionState) => state.book?.suspensions.map((s) => s.id);
    let state = greeted(view({ suspensions: [asked('s1')] }));
    state = feed(state, frame(11, { type: 'turn.suspended', payload: { suspension: asked('s2') } }));
    expect(ids(state)).toEqual(['s1', 's2']);
    state = feed(
      state,
      frame(
        12,
        { type: 'turn.resumed', payload: { suspensionId: 's1' } },
        { type: 'turn.suspended', payload: { suspension: asked('s3') } },
      ),
    );
    expect(ids(state)).toEqual(['s2', 's3']);
    state = feed(state, frame(13, { type: 'suspension.closed', payload: { suspensionId: 's2' } }));
    expect(ids(state)).toEqual(['s3']);
  });

  it('gathering.changed says who is waited for, until the turn begins', () => {
    const gathering = { submissions: [{ seatId: 'a', requestId: 'r1' }], waitingFor: ['b'] };
    const waits = feed(greeted(), frame(11, { type: 'gathering.changed', payload: { gathering } }));
    expect(waits.book?.gathering).toEqual(gathering);
    const begins = feed(waits, frame(12, { type: 'gathering.changed', payload: { gathering: null } }));
    expect(begins.book).not.toHaveProperty('gathering');
  });

  it('a plugin that is paused is told once, until it runs again', () => {
    const said = (type: 'plugin.paused' | 'plugin.resumed', n: number) =>
      transient('', n, { type, payload: { pluginId: 'codex' } });
    const paused = feed(greeted(), said('plugin.paused', 1), said('plugin.paused', 2));
    expect(paused.book?.pausedPlugins).toEqual(['codex']);
    expect(paused.work).toBeUndefined();
    expect(feed(paused, said('plugin.resumed', 3)).book?.pausedPlugins).toEqual([]);
  });

  it('messages stand in the order of seq, each once', () => {
    const s = feed(
      greeted(view({ messages: [message('a', 1), message('c', 5)] })),
      frame(11, { type: 'message.appended', payload: { message: message('b', 3) } }),
      frame(12, { type: 'message.appended', payload: { message: message('b', 3, { text: 'b2' }) } }),
      frame(13, { type: 'message.appended', payload: { message: message('d', 5) } }),
    );
    expect(texts(s)).toEqual(['a', 'b2', 'c', 'd']);
  });
});

describe('the place in the stream', () => {
  it('ignores frames that were seen', () => {
    const s = greeted(view({ messages: [message('a', 1)] }));
    const twice = frame(11, { type: 'message.appended', payload: { message: message('b', 11) } });
    const once = feed(s, twice);
    expect(feed(once, twice, frame(9), frame(10))).toEqual(once);
  });

  it('moves over empty frames', () => {
    expect(feed(greeted(), frame(14)).position).toMatchObject({ seq: 14, lastId: 'e14' });
  });

  it('sees the same number from another life', () => {
    const s = feed(greeted(), { ...frame(10), lastId: 'someone-else' });
    expect(s.stale).toBe(true);
  });

  it('sees a gap: the frames after a resume lead to the head that was named', () => {
    let s = feed(greeted(), resumed(20), frame(15));
    expect(s.stale).toBe(false);
    expect(s.catchUp?.head).toBe(20);
    s = feed(s, frame(22));
    expect(s.stale).toBe(true);
    expect(s.position?.seq).toBe(15);
    expect(feed(greeted(), resumed(20), frame(15), frame(20), frame(22)).stale).toBe(false);
  });

  it.each([
    ['another incarnation', resumed(12, { incarnation: 'life-2' })],
    ['a head before ours', resumed(8)],
    ['no view although nothing was resumed', { ...resumed(12), resumed: false }],
  ])('distrusts a welcome with %s', (_, w) => {
    expect(feed(greeted(), w).stale).toBe(true);
  });

  it('ignores everything between a reset and the next view, and keeps what is typed and sent', () => {
    let s = say(greeted(), 'r1', 'hello');
    s = reduce(s, { kind: 'sent', requestId: 'r1' });
    s = reduce(s, { kind: 'draft', text: 'next thought' });
    s = feed(
      s,
      { type: 'system.reset', reason: 'slow-consumer' },
      frame(11, started('r9', 'x9')),
      delta('x9', 1, 'a'),
    );
    expect(s.stale).toBe(true);
    expect(s.position?.seq).toBe(10);
    expect(s.work).toBeUndefined();
    s = feed(s, welcome(view({ seq: 30, lastId: 'e30', incarnation: 'life-2' })));
    expect(s.stale).toBe(false);
    expect(s.position).toEqual({ seq: 30, lastId: 'e30', incarnation: 'life-2' });
    expect(s.draft).toBe('next thought');
    expect(s.outbox).toMatchObject([{ status: 'unsent', command: { requestId: 'r1' } }]);
  });

  it.each([
    ['names the head', 18],
    ['names where we were', 12],
  ])('takes the running turn of a resume when its beginning is here (the welcome %s)', (_, seq) => {
    const running = {
      executionId: 'x2',
      n: 5,
      requestId: 'r2',
      text: 'So far',
      textRuntimeId: 'narrator',
      steps: [],
    };
    let s = feed(greeted(), frame(12, started('r1', 'x1')), delta('x1', 1, 'old'));
    s = feed(s, resumed(seq, { running }));
    s = feed(
      s,
      frame(14, narrated('r1', message('m1', 13, { runtimeId: 'narrator' })), turnCompleted('r1', 'x1')),
      delta('x2', 5, 'repeat'),
      delta('x2', 6, ' and on'),
      frame(16, completed('r1')),
    );
    expect(streamed(s)).toBe('');
    s = feed(s, frame(18, accepted('r2', playerLine('p2', 17, 'on')), started('r2', 'x2')));
    expect(texts(s)).toEqual(['m1']);
    expect(streamed(s)).toBe('So far and on');
    expect(s.ahead).toBeUndefined();
    expect(s.catchUp).toBeUndefined();
    expect(streamed(feed(s, delta('x2', 7, '!')))).toBe('So far and on!');
  });

  it('takes the running continuation of a request that was missed in between', () => {
    const running = {
      executionId: 'x2',
      n: 2,
      requestId: 'r1',
      text: 'Opening',
      textRuntimeId: 'narrator',
      steps: [],
    };
    const s = feed(
      greeted(),
      frame(12, started('r1', 'x1')),
      resumed(12, { running }),
      frame(14, narrated('r1', message('m1', 13, { runtimeId: 'narrator' })), turnCompleted('r1', 'x1')),
      frame(15, started('r1', 'x2')),
    );
    expect(streamed(s)).toBe('Opening');
    expect(isBusy(s)).toBe(true);
  });

  it('resumes in mid-answer with nothing missed', () => {
    const running = {
      executionId: 'x1',
      n: 7,
      text: 'All of it so far',
      textRuntimeId: 'narrator',
      steps: [],
    };
    const s = feed(
      greeted(),
      frame(12, started('r1', 'x1')),
      delta('x1', 1, 'All'),
      resumed(12, { running }),
      delta('x1', 7, 'repeat'),
      delta('x1', 8, '.'),
    );
    expect(streamed(s)).toBe('All of it so far.');
  });

  it('keeps pages of older messages over a fresh view of the same life', () => {
    let s = greeted(view({ messages: [message('c', 3)], messagesCursor: 'k2' }));
    s = reduce(s, {
      kind: 'older',
      cursor: 'k2',
      page: { items: [message('a', 1), message('b', 2)], nextCursor: null },
    });
    expect(texts(s)).toEqual(['a', 'b', 'c']);
    // The same page twice, or one for a cursor of before, changes nothing.
    expect(
      reduce(s, { kind: 'older', cursor: 'k2', page: { items: [message('z', 0)], nextCursor: null } }),
    ).toBe(s);
    s = feed(
      s,
      welcome(view({ seq: 20, messages: [message('c', 3), message('d', 4)], messagesCursor: 'k2' })),
    );
    expect(texts(s)).toEqual(['a', 'b', 'c', 'd']);
    expect(s.book?.messagesCursor).toBeNull();
    s = feed(
      s,
      welcome(view({ seq: 20, incarnation: 'life-2', messages: [message('c', 3)], messagesCursor: 'k2' })),
    );
    expect(texts(s)).toEqual(['c']);
  });

  it('shows the line of a running turn after a reload, once', () => {
    let s = greeted(
      view({
        execution: {
          state: 'running',
          requestId: 'r1',
          turnId: 't1',
          input: { text: 'I wait', message: playerLine('p1', 11, 'I wait', { characterName: '陆青云' }) },
        },
        running: { executionId: 'x1', n: 3, text: 'You', textRuntimeId: 'narrator', steps: [] },
      }),
    );
    expect(s.pending.map((p) => p.message.characterName)).toEqual(['陆青云']);
    expect(streamed(s)).toBe('You');
    s = feed(
      s,
      frame(
        14,
        { type: 'message.appended', requestId: 'r1', payload: { message: playerLine('p1', 11, 'I wait') } },
        narrated('r1', message('m1', 12, { text: 'You wait.', runtimeId: 'narrator' })),
        turnCompleted('r1', 'x1'),
        completed('r1'),
      ),
    );
    expect(texts(s)).toEqual(['I wait', 'You wait.']);
    expect(s.pending).toEqual([]);
  });
});

describe('commands', () => {
  const sent = (state: SessionState, id: string) => reduce(state, { kind: 'sent', requestId: id });

  it('go out again after a drop with the same id and the same body, until they are stored', () => {
    let s = sent(say(greeted(), 'r1', 'hello'), 'r1');
    const body = s.outbox[0]?.command;
    s = reduce(s, { kind: 'disconnected' });
    expect(s.outbox).toEqual([{ command: body, status: 'unsent', wasSent: true, ahead: 0, version: 0 }]);
    s = feed(sent(s, 'r1'), { type: 'ack', requestId: 'r1', status: 'accepted', version: 10, repeat: true });
    expect(s.outbox).toEqual([]);
  });

  it('are shown to be stored by a frame, also when the ack was lost', () => {
    let s = sent(say(greeted(), 'r1', 'hello'), 'r1');
    s = reduce(s, { kind: 'disconnected' });
    s = feed(s, resumed(12), frame(12, accepted('r1', playerLine('p1', 11, 'hello')), started('r1', 'x1')));
    expect(s.outbox).toEqual([]);
    expect(s.pending).toHaveLength(1);
  });

  it('that were accepted in a life that is lost go out again', () => {
    let s = sent(say(greeted(), 'r1', 'hello'), 'r1');
    s = feed(s, { type: 'ack', requestId: 'r1', status: 'accepted', version: 50 });
    s = feed(s, welcome(view({ seq: 20, incarnation: 'life-2' })));
    expect(s.outbox).toMatchObject([{ status: 'unsent' }]);
    s = feed(greeted(), welcome(view({ seq: 60 })));
    expect(s.outbox).toEqual([]);
  });

  it('carry a base only when they answer what was read', () => {
    const idle = greeted();
    expect(say(idle, 'r1', 'a').outbox[0]?.command.base).toBe(10);
    const busy = feed(idle, frame(12, started('r0', 'x0')));
    expect(say(busy, 'r1', 'a').outbox[0]?.command).not.toHaveProperty('base');
    expect(say(say(idle, 'r1', 'wait'), 'r2', 'wait').outbox.map((o) => o.command)).toEqual([
      { type: 'submit_actions', requestId: 'r1', base: 10, payload: { actions: [{ text: 'wait' }] } },
      { type: 'submit_actions', requestId: 'r2', payload: { actions: [{ text: 'wait' }] } },
    ]);
  });

  it('with the same id are one command', () => {
    const s = say(greeted(), 'r1', 'a');
    expect(say(s, 'r1', 'a')).toBe(s);
  });

  it('that are refused give their text back, before what was typed since', () => {
    let s = sent(say(greeted(), 'r1', 'first line'), 'r1');
    s = reduce(s, { kind: 'draft', text: 'second' });
    s = feed(s, refusal('r1', 'busy'));
    expect(s.draft).toBe('first line\nsecond');
    expect(s.outbox).toEqual([]);
    expect(s.notice).toMatchObject({ code: 'busy' });
    expect(reduce(s, { kind: 'dismiss' }).notice).toBeUndefined();
    expect(say(s, 'r2', 'x').notice).toBeUndefined();
  });

  it('meet a conflict: the newer frames are drawn and the text stays with the player', () => {
    let s = sent(say(greeted(), 'r1', 'I leave'), 'r1');
    s = feed(
      s,
      refusal('r1', 'conflict', {
        frames: [
          frame(12, accepted('o1', playerLine('p1', 11, 'other tab')), started('o1', 'x1')),
          frame(15, narrated('o1', message('m1', 13)), turnCompleted('o1', 'x1'), completed('o1')),
        ],
      }),
    );
    expect(texts(s)).toEqual(['other tab', 'm1']);
    expect(s.draft).toBe('I leave');
    expect(s.notice?.code).toBe('conflict');
    expect(s.position?.seq).toBe(15);
  });

  it('are sent again by themselves when a conflict is about nothing a reader sees, three times at most', () => {
    let s = sent(say(greeted(), 'r1', 'I leave'), 'r1');
    for (const [n, seq] of [11, 12, 13].entries()) {
      const id = n === 0 ? 'r1' : `r1:${String(n)}`;
      s = feed(s, refusal(id, 'conflict', { frames: [frame(seq)] }));
      const again = `r1:${String(n + 1)}`;
      expect(s.outbox).toMatchObject([{ status: 'unsent', command: { requestId: again, base: seq } }]);
      s = sent(s, again);
    }
    s = feed(s, refusal('r1:3', 'conflict', { frames: [frame(14)] }));
    expect(s.outbox).toEqual([]);
    expect(s.draft).toBe('I leave');
  });

  it('wait for a server that is going away', () => {
    const s = feed(sent(say(greeted(), 'r1', 'hi'), 'r1'), refusal('r1', 'server_shutting_down'));
    expect(s.outbox).toMatchObject([{ status: 'unsent', command: { requestId: 'r1' } }]);
    expect(s.notice).toBeUndefined();
  });

  it('that answer a form keep its faults by field, and leave the draft alone', () => {
    let s = reduce(greeted(view({ messages: [message('m1', 9, { interactions: [form('f', 't1')] })] })), {
      kind: 'submit',
      type: 'submit_actions',
      requestId: 'r1',
      payload: {
        actions: [
          { interaction: { turnId: 't1', interactionId: 'f', type: 'form' }, fields: { name: '陆青云' } },
        ],
      },
    });
    s = feed(
      sent(s, 'r1'),
      refusal('r1', 'form_rejected', { issues: [{ field: 'name', message: 'That name is taken.' }] }),
    );
    expect(s.notice).toEqual({
      code: 'form_rejected',
      text: 'form_rejected',
      interactionId: 'f',
      issues: [{ field: 'name', message: 'That name is taken.' }],
    });
    expect(s.draft).toBe('');
    expect(s.book?.messages[0]?.interactions).toMatchObject([{ status: 'open' }]);
  });

  it('a line said into the turn comes back when nobody listened; an answer to a run that waits keeps its question', () => {
    let state = greeted();
    state = reduce(state, {
      kind: 'submit',
      type: 'interject',
      requestId: 'r1',
      payload: { text: '等一下！' },
    });
    expect(state.outbox.map(spokenText)).toEqual(['等一下！']);
    state = feed(state, refusal('r1', 'interjection_too_late'));
    expect(state.draft).toBe('等一下！');
    expect(state.notice?.code).toBe('interjection_too_late');

    const answer = { suspensionId: 's1', data: { who: '龙胆' } };
    state = reduce(state, { kind: 'submit', type: 'resume_suspension', requestId: 'r2', payload: answer });
    expect(state.outbox.map(interactionOf)).toEqual(['s1']);
    state = feed(state, refusal('r2', 'form_rejected'));
    expect(state.notice).toMatchObject({ code: 'form_rejected', interactionId: 's1' });
    expect(state.draft).toBe('等一下！');
  });

  it('a stop that came too late is nothing; hello_required asks for a fresh start', () => {
    const s = greeted();
    expect(feed(s, { ...refusal('', 'no_running_turn'), requestId: undefined })).toBe(s);
    expect(feed(s, { ...refusal('', 'hello_required'), requestId: undefined }).stale).toBe(true);
  });

  it('stopped before they began give their line back without a word', () => {
    const s = feed(sent(say(greeted(), 'r1', 'hi'), 'r1'), refusal('r1', 'aborted-by-player'));
    expect(s.draft).toBe('hi');
    expect(s.notice).toBeUndefined();
  });

  it('a turn refused while it settles leaves nothing at work', () => {
    let s = sent(say(greeted(), 'r1', 'hi'), 'r1');
    s = feed(
      s,
      transient('x1', 0, { type: 'turn.settling', payload: { jobs: [job] } }),
      refusal('r1', 'session_not_active'),
    );
    expect(s.work).toBeUndefined();
  });

  it('what waits for background jobs says so to everybody, until it begins or does not', () => {
    const settling = (jobs: (typeof job)[]) =>
      transient('x1', 0, { type: 'turn.settling', payload: { jobs } });
    let s = feed(greeted(), settling([job, { ...job, jobId: 'j2' }]), settling([job]));
    expect(s.work).toMatchObject({ executionId: 'x1', n: 0, settling: true });
    expect(feed(s, settling([])).work).toBeUndefined();
    s = feed(
      s,
      settling([]),
      frame(12, started('r1', 'x1')),
      transient('x1', 1, {
        type: 'runtime.started',
        payload: {
          runtimeId: 'narrator',
          pluginId: 'narrator',
          label: 'The narrator is writing',
          stage: 'narrative',
        },
      }),
    );
    expect(s.work).toMatchObject({ n: 1, settling: false, steps: [{ runtimeId: 'narrator' }] });
  });

  it('saved by a tab that was reloaded go out again; spokenText reads their line', () => {
    const before = sent(say(greeted(), 'r1', 'hello'), 'r1');
    const s = emptyState({ outbox: before.outbox, draft: 'half' });
    expect(s.outbox).toMatchObject([{ status: 'unsent', command: { requestId: 'r1', base: 10 } }]);
    expect(s.draft).toBe('half');
    expect(spokenText(s.outbox[0] as (typeof s.outbox)[0])).toBe('hello');
  });
});

describe('text from elsewhere', () => {
  it('BL-05: an answer cut at every offset streams to the same text', () => {
    const answer = '龍が来た🐉👩‍👩‍👧 é e\u0301';
    for (let cut = 0; cut <= answer.length; cut++) {
      const s = feed(
        greeted(),
        frame(12, started('r1', 'x1')),
        delta('x1', 1, answer.slice(0, cut)),
        delta('x1', 2, answer.slice(cut)),
      );
      expect(streamed(s)).toBe(answer);
    }
    const units = Array.from({ length: answer.length }, (_, i) => delta('x1', i + 1, answer.charAt(i)));
    expect(streamed(feed(greeted(), frame(12, started('r1', 'x1')), ...units))).toBe(answer);
  });

  it('BL-06: odd names are values, never keys of ours', () => {
    const names = ['龙胆', 'Ольга', '..', '__proto__', 'E\u0301lodie', 'Élodie', '😀'.repeat(200)];
    const s = names.reduce(
      (state, name, n) =>
        feed(
          state,
          frame(11 + n, {
            type: 'character.upserted',
            payload: { character: { id: `c${String(n)}`, name, type: 'npc' } },
          }),
        ),
      greeted(),
    );
    expect(s.book?.characters.map((c) => c.name)).toEqual(names);
  });

  it('BL-18: markup in prose is kept as the text it is', () => {
    const evil =
      '<img src=x onerror=alert(1)> <svg/onload=alert(1)> [x](javascript:alert(1)) <style>*{display:none}</style>';
    const s = feed(
      greeted(),
      frame(12, started('r1', 'x1')),
      delta('x1', 1, evil),
      frame(13, narrated('r1', message('m1', 13, { text: evil, runtimeId: 'narrator' })), completed('r1')),
    );
    expect(texts(s)).toEqual([evil]);
  });
});
