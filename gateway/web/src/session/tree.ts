import type { Tree, Turn } from '../protocol/types';

/** A turn was played: what came takes the place of what is known under the same id. */
export function grow(tree: Tree, change: Tree): Tree {
  const changed = new Map(change.turns.map((t) => [t.turnId, t]));
  const kept = tree.turns.map((t) => changed.get(t.turnId) ?? t);
  const known = new Set(tree.turns.map((t) => t.turnId));
  return { head: change.head, turns: [...kept, ...change.turns.filter((t) => !known.has(t.turnId))] };
}

export function rename(tree: Tree, turnId: string, name: string): Tree {
  return { ...tree, turns: tree.turns.map((t) => (t.turnId === turnId ? { ...t, name } : t)) };
}

/** The ways from the newest page: to the other takes of its moment, and to a page that was taken back. */
export interface Ways {
  /** The newest turn, if there is one to take back or to tell anew. */
  newest?: Turn;
  /** Where the newest stands among the takes of its moment, from 1. */
  take: number;
  /** The take before and the one after it, when there are such. */
  former?: string;
  later?: string;
  /** The page taken back last, which can be laid open again. */
  forward?: string;
}

export function ways(tree: Tree): Ways {
  const newest = tree.turns.find((t) => t.turnId === tree.head);
  const at = newest?.takes.indexOf(newest.turnId) ?? -1;
  const out: Ways = { take: at + 1 };
  if (newest !== undefined) out.newest = newest;
  const [former, later] = [newest?.takes[at - 1], newest?.takes[at + 1]];
  if (former !== undefined) out.former = former;
  if (later !== undefined) out.later = later;
  const forward = tree.turns.findLast((t) => (t.before ?? '') === tree.head && !t.onPath);
  if (forward !== undefined) out.forward = forward.turnId;
  return out;
}
