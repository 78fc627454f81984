import { describe, expect, it } from 'vitest';
import type { SessionState } from '../../src/session/state';
import { announce, nothingTold } from '../../src/story/finished';
import { Narration } from '../../src/story/narration';
import * as b from './build';

describe('announce', () => {
  it('tells each paragraph once, when the next has begun', () => {
    let step = announce(nothingTold, 'One', false);
    expect(step.say).toEqual([]);
    step = announce(step.told, 'One.\n\nTw', false);
    expect(step.say).toEqual(['One.']);
    step = announce(step.told, 'One.\n\nTwo.\n\n***\n\nThr', false);
    expect(step.say).toEqual(['Two.']);
    step = announce(step.told, 'One.\n\nTwo.\n\n***\n\nThree.', true);
    expect(step.say).toEqual(['Three.']);
    expect(announce(step.told, 'One.\n\nTwo.\n\n***\n\nThree.', true).say).toEqual([]);
  });

  it('reads a text that was rewritten from where it differs', () => {
    const { told } = announce(nothingTold, 'One.\n\nTwo.\n\nThr', false);
    expect(announce(told, 'One.\n\nOther.\n\nEnd.', true).say).toEqual(['Other.', 'End.']);
  });
});

describe('Narration', () => {
  const turn = (state: SessionState, n: Narration, ...messages: Parameters<typeof b.feed>[1][]) => {
    const said: string[] = [];
    let s = state;
    for (const m of messages) {
      s = b.feed(s, m);
      said.push(...n.hear(s));
    }
    return { state: s, said };
  };

  it('keeps silent about what stands on the page, and about the player’s own lines', () => {
    const n = new Narration();
    const state = b.greeted(b.view({ messages: [b.message('old', 1)] }));
    expect(n.hear(state)).toEqual([]);
    const { said } = turn(
      state,
      n,
      b.frame(12, b.accepted('r1', b.playerLine('p1', 11, 'I go')), b.started('r1', 'x1')),
      b.delta('x1', 1, 'The door '),
      b.delta('x1', 2, 'opens.\n\nIt is'),
      b.delta('x1', 3, ' dark.'),
      b.frame(
        14,
        b.narrated(
          'r1',
          b.message('m1', 13, { text: 'The door opens.\n\nIt is dark.', runtimeId: 'narrator' }),
        ),
        b.turnCompleted('r1', 'x1'),
        b.completed('r1'),
      ),
    );
    expect(said).toEqual(['The door opens.', 'It is dark.']);
  });

  it('reads a message that came without streaming, with who speaks', () => {
    const n = new Narration();
    const state = b.greeted();
    n.hear(state);
    const segments = [
      { kind: 'narration' as const, text: 'A bell.' },
      { kind: 'dialogue' as const, text: 'Who is there?', speaker: '龙胆' },
    ];
    const { said } = turn(state, n, b.frame(12, b.narrated('r1', b.message('m1', 11, { segments }))));
    expect(said).toEqual(['A bell.', '龙胆: Who is there?']);
  });

  it('does not read pages of older messages', () => {
    const n = new Narration();
    const newest = Array.from({ length: 10 }, (_, i) => b.message(`m${String(i)}`, 10 + i));
    const state = b.greeted(b.view({ messages: newest, messagesCursor: 'c' }));
    n.hear(state);
    const older = { ...state, book: { ...state.book!, messages: [b.message('old', 1), ...newest] } };
    expect(n.hear(older)).toEqual([]);
  });

  it('says nothing more of a draft that was withdrawn', () => {
    const n = new Narration();
    const state = b.greeted();
    n.hear(state);
    const { said } = turn(
      state,
      n,
      b.frame(12, b.started('r1', 'x1')),
      b.delta('x1', 1, 'Bad.\n\nWorse'),
      b.frame(13, b.turnCompleted('r1', 'x1', false), b.completed('r1', false)),
    );
    expect(said).toEqual(['Bad.']);
  });
});
