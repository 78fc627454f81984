import type { Step } from '../protocol/types';
import type { Work } from '../session/state';

/** The stages of a turn in their order. A set-up turn has only the first, every other only the rest. */
export const STAGES = ['pre-turn', 'narrative', 'post-turn', 'audit'] as const;
export type Stage = 'setup' | (typeof STAGES)[number];

export interface WorkView {
  /** The stage at work; undefined before the first runtime begins. */
  stage: Stage | undefined;
  /** The names of the runtimes at work, as their plugins call them; never an id. */
  labels: string[];
  /** Runtimes whose part failed while the turn goes on. */
  failed: string[];
  settling: boolean;
  /** For the thin line: how far each stage is. */
  line: { stage: Stage; state: 'done' | 'now' | 'next' }[];
}

const order: readonly string[] = STAGES;

/** Who is doing what, as the page says it. */
export function viewWork(work: Work | undefined): WorkView {
  const steps = work?.steps ?? [];
  const running = steps.filter((s) => s.status === 'running');
  const newest = running.at(-1) ?? steps.at(-1);
  const stage = newest === undefined ? undefined : stageOf(newest);
  return {
    stage,
    // A label is often a whole sentence; in a line of several its full stop would be in the way.
    labels: running.map((s) => s.label.replace(/[.。]$/, '')).filter((l) => l !== ''),
    failed: steps.filter((s) => s.status === 'failed' && s.label !== '').map((s) => s.label),
    settling: work?.settling ?? false,
    line: stage === 'setup' ? [{ stage, state: 'now' }] : lineOf(stage),
  };
}

function stageOf(step: Step): Stage {
  return step.stage === 'setup' || order.includes(step.stage) ? (step.stage as Stage) : 'narrative';
}

function lineOf(stage: Stage | undefined): WorkView['line'] {
  const now = stage === undefined ? -1 : order.indexOf(stage);
  return STAGES.map((s, n) => ({ stage: s, state: n < now ? 'done' : n === now ? 'now' : 'next' }));
}

/** Elapsed time as a clock shows it: 0:07, 1:05, 61:00. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return `${String(Math.floor(seconds / 60))}:${String(seconds % 60).padStart(2, '0')}`;
}
