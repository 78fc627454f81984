import { describe, expect, it } from 'vitest';
import type { Tree, Turn } from '../../src/protocol/types';
import { feed, frame, greeted, message, view } from './build';
import { grow, rename, ways } from '../../src/session/tree';

const turn = (turnId: string, before: string, takes: string[], onPath = true): Turn => ({
  turnId,
  ...(before !== '' && { before }),
  onPath,
  takes,
});

describe('ways from the newest page', () => {
  it('has none before the first turn', () => {
    expect(ways({ head: '', turns: [] })).toEqual({ take: 0 });
  });

  it('takes back and tells anew what was played', () => {
    const a = turn('a', '', ['a']);
    expect(ways({ head: 'a', turns: [a] })).toEqual({ newest: a, take: 1 });
  });

  it('turns between takes of one moment', () => {
    const tree: Tree = {
      head: 'b',
      turns: [
        turn('a', '', ['a', 'b', 'c'], false),
        turn('b', '', ['a', 'b', 'c']),
        turn('c', '', ['a', 'b', 'c'], false),
      ],
    };
    expect(ways(tree)).toMatchObject({ take: 2, former: 'a', later: 'c' });
  });

  it('lays open again the page taken back last', () => {
    const tree: Tree = {
      head: 'a',
      turns: [turn('a', '', ['a']), turn('b', 'a', ['b', 'c'], false), turn('c', 'a', ['b', 'c'], false)],
    };
    expect(ways(tree).forward).toBe('c');
    expect(ways({ head: '', turns: [turn('a', '', ['a'], false)] })).toEqual({ take: 0, forward: 'a' });
  });

  it('does not call a page of the path a way forward', () => {
    const tree: Tree = { head: 'b', turns: [turn('a', '', ['a']), turn('b', 'a', ['b'])] };
    expect(ways(tree).forward).toBeUndefined();
  });
});

describe('a tree that grows', () => {
  it('is told by a frame, with the name of a branch and a revised page', () => {
    const page = message('m1', 11, { text: '雪停了。' });
    const state = feed(
      greeted(view({ messages: [message('m1', 9)] })),
      frame(11, { type: 'tree.changed', payload: { head: 'a', turns: [turn('a', '', ['a'])] } }),
      frame(12, { type: 'branch.named', payload: { turnId: 'a', name: '码头' } }),
      frame(13, { type: 'message.revised', payload: { message: page } }),
    );
    expect(state.book?.tree).toEqual({ head: 'a', turns: [{ ...turn('a', '', ['a']), name: '码头' }] });
    expect(state.book?.messages).toEqual([page]);
  });

  it('takes a new turn in and renews its siblings', () => {
    const before: Tree = { head: '', turns: [turn('a', '', ['a'], false)] };
    const change: Tree = { head: 'b', turns: [turn('a', '', ['a', 'b'], false), turn('b', '', ['a', 'b'])] };
    expect(grow(before, change)).toEqual(change);
    expect(grow(change, { head: 'c', turns: [turn('c', 'b', ['c'])] }).turns.map((t) => t.turnId)).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  it('names one turn', () => {
    const tree = rename({ head: 'a', turns: [turn('a', '', ['a']), turn('b', 'a', ['b'])] }, 'a', '去了码头');
    expect(tree.turns.map((t) => t.name)).toEqual(['去了码头', undefined]);
  });
});
