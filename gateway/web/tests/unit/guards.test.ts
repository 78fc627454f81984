import { describe, expect, it } from 'vitest';
import * as guards from '../../src/protocol/guards';
import { readServerMessage } from '../../src/protocol/guards';
import { view } from './build';

const read = (value: unknown) => readServerMessage(JSON.stringify(value));

describe('what comes from the server', () => {
  it('a welcome with a view, lists that are null and fields that are missing', () => {
    const raw = {
      type: 'welcome',
      seq: 3,
      lastId: 'e3',
      incarnation: 'i',
      resumed: false,
      view: {
        ...view(),
        messages: null,
        characters: null,
        seats: undefined,
        pluginData: null,
        execution: undefined,
        messagesCursor: '',
        session: { id: 's', status: 'active', phase: 'setup' },
      },
      future: 'field',
    };
    const message = read(raw);
    expect(message).toMatchObject({
      type: 'welcome',
      view: {
        messages: [],
        characters: [],
        seats: [],
        pluginData: {},
        messagesCursor: null,
        execution: { state: 'idle' },
        session: { activePlugins: [], title: '', setupRuntimes: {}, completedPlayerTurns: 0 },
      },
    });
    expect(message).not.toHaveProperty('future');
  });

  it('a frame: events of unknown type are left out, those of a known type must fit', () => {
    const known = { type: 'execution.completed', requestId: 'r', payload: { committed: true } };
    expect(
      read({ type: 'frame', seq: 4, lastId: 'e', events: [{ type: 'phase.danced', payload: 7 }, known] }),
    ).toEqual({
      type: 'frame',
      seq: 4,
      lastId: 'e',
      events: [expect.objectContaining({ type: 'execution.completed' })],
    });
    expect(read({ type: 'frame', seq: 4, lastId: 'e', events: null })).toMatchObject({ events: [] });
    expect(() => read({ type: 'frame', seq: 4, lastId: 'e', events: [{ ...known, payload: {} }] })).toThrow();
    expect(() => read({ type: 'frame', seq: 'four', events: [] })).toThrow();
  });

  it('progress that does not fit is not worth a fresh start', () => {
    expect(
      read({ type: 'transient', executionId: 'x', n: 1, event: { type: 'narrative.delta', payload: 3 } }),
    ).toBeUndefined();
    expect(
      read({ type: 'transient', executionId: 'x', n: 1, event: { type: 'new.kind', payload: {} } }),
    ).toBeUndefined();
    expect(
      read({
        type: 'transient',
        executionId: 'x',
        n: 0,
        event: { type: 'turn.settling', payload: { jobs: [{ jobId: 'j' }] } },
      }),
    ).toMatchObject({ event: { payload: { jobs: [{ jobId: 'j', runtimeId: '' }] } } });
  });

  it('a refusal: issues from details, frames of a conflict, and a server that sends neither', () => {
    expect(
      read({
        type: 'error',
        requestId: 'r',
        code: 'form_rejected',
        error: 'no',
        details: { issues: [{ field: 'name', message: 'taken' }, { message: 'and more' }] },
      }),
    ).toMatchObject({ issues: [{ field: 'name', message: 'taken' }, { message: 'and more' }], frames: [] });
    expect(
      read({ type: 'error', code: 'conflict', error: '', frames: [{ seq: 2, lastId: 'e2', events: [] }] }),
    ).toMatchObject({ frames: [{ type: 'frame', seq: 2 }] });
    expect(read({ type: 'error', code: 'busy', error: 'x', details: 'odd' })).toMatchObject({ issues: [] });
  });

  it('acks, pong, reset, and kinds this page does not know', () => {
    expect(read({ type: 'ack', requestId: 'r', status: 'queued', n: 1 })).toMatchObject({
      status: 'queued',
      n: 1,
    });
    expect(read({ type: 'ack', requestId: 'r', status: 'accepted', version: 9, repeat: true })).toMatchObject(
      {
        version: 9,
        repeat: true,
      },
    );
    expect(read({ type: 'pong' })).toEqual({ type: 'pong' });
    expect(read({ type: 'system.reset', reason: 'gap' })).toEqual({ type: 'system.reset', reason: 'gap' });
    expect(read({ type: 'invitation' })).toBeUndefined();
  });

  it.each(['', 'null', '7', '"text"', '[]', '{}', '{"type":7}', '{"type":"ack"}', '{"type":"welcome"}'])(
    'throws for %j',
    (data) => {
      expect(() => readServerMessage(data)).toThrow();
    },
  );

  it('form fields: options as text or pairs, odd types become text, a missing label is the name', () => {
    const parsed = guards.message.parse({
      id: 'm',
      seq: 1,
      role: 'assistant',
      interactions: [
        {
          interactionId: 'f',
          type: 'form',
          block: {
            fields: [
              {
                type: 'select',
                name: 'a',
                label: 'A',
                options: ['x', { value: 2, label: 'two' }, { value: 'z' }],
              },
              { type: 'hologram', name: 'b' },
            ],
          },
        },
      ],
    });
    expect(parsed.interactions?.[0]?.block.fields).toMatchObject([
      {
        options: [
          { value: 'x', label: 'x' },
          { value: '2', label: 'two' },
          { value: 'z', label: 'z' },
        ],
      },
      { type: 'text', label: 'b' },
    ]);
  });

  it('an error is a text, however it is wrapped', () => {
    for (const error of ['no model', { message: 'no model' }, { error: 'no model', code: 'x' }]) {
      const frame = read({
        type: 'frame',
        seq: 1,
        events: [{ type: 'execution.completed', payload: { committed: false, error } }],
      });
      expect(frame).toMatchObject({ events: [{ payload: { error: 'no model' } }] });
    }
  });

  it('prototype names are data', () => {
    const data =
      '{"type":"frame","seq":1,"events":[{"type":"plugin-data.changed","payload":{"pluginId":"__proto__","changes":[{"namespace":"constructor","key":"__proto__","value":{"x":1},"operation":"set"}]}}]}';
    expect(readServerMessage(data)).toMatchObject({ events: [{ payload: { pluginId: '__proto__' } }] });
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });
});
