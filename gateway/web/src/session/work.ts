import type { Step, Transient, TransientEvent } from '../protocol/types';
import type { Work } from './state';

/**
 * Folds one progress message into the work it belongs to.
 * A number that was seen is a repeat and changes nothing; what is told before the turn begins has none (0). A number
 * that was skipped is allowed: the server joins adjacent text for a slow reader, and the committed text replaces
 * everything here anyway.
 */
export function progress(work: Work | undefined, message: Transient): Work {
  const mine =
    work?.executionId === message.executionId
      ? work
      : { executionId: message.executionId, n: 0, streams: [], steps: [], settling: false };
  if (mine === work && message.n !== 0 && message.n <= mine.n) return mine;
  // Whatever comes after a pause ends it.
  const { waitMs: _, ...awake } = mine;
  return { ...applied(awake, message.event), n: Math.max(mine.n, message.n) };
}

function applied(work: Work, event: TransientEvent): Work {
  switch (event.type) {
    case 'turn.settling':
      return { ...work, settling: event.payload.jobs.length > 0 };
    case 'llm.waiting':
      return { ...work, waitMs: event.payload.waitMs };
    case 'plugin.paused':
    case 'plugin.resumed':
      return work;
    case 'runtime.started': {
      const { runtimeId, pluginId, label, stage } = event.payload;
      const step: Step = { runtimeId, pluginId, label, stage, status: 'running' };
      const rest = work.steps.filter((s) => s.runtimeId !== runtimeId);
      return { ...work, settling: false, steps: [...rest, step] };
    }
    case 'runtime.completed':
      return endStep(work, event.payload.runtimeId, 'success');
    case 'runtime.failed':
      return endStep(work, event.payload.runtimeId, 'failed');
    case 'runtime.skipped':
      return endStep(work, event.payload.runtimeId, 'skipped');
    case 'runtime.suspended':
      return endStep(work, event.payload.runtimeId, 'suspended');
    case 'narrative.delta':
      return { ...work, settling: false, streams: extend(work.streams, event.payload) };
    case 'tool.calling':
    case 'tool.completed':
    case 'tool.failed':
      return work;
  }
}

function endStep(work: Work, runtimeId: string, status: Step['status']): Work {
  return { ...work, steps: work.steps.map((s) => (s.runtimeId === runtimeId ? { ...s, status } : s)) };
}

function extend(
  streams: Work['streams'],
  { runtimeId, delta, reset }: { runtimeId: string; delta: string; reset?: boolean },
): Work['streams'] {
  // Text that a welcome gave without naming its runtime belongs to the first runtime that goes on writing.
  const at = streams.findIndex((s) => s.runtimeId === runtimeId || s.runtimeId === '');
  const before = at < 0 || reset ? '' : (streams[at]?.text ?? '');
  const stream = { runtimeId, text: before + delta };
  return at < 0 ? [...streams, stream] : streams.map((s, n) => (n === at ? stream : s));
}

/** Takes back the prose of one runtime, once its final text is here. Without an id: of all. */
export function withdraw(work: Work | undefined, runtimeId: string | undefined): Work | undefined {
  if (work === undefined || work.streams.length === 0) return work;
  const streams =
    runtimeId === undefined
      ? []
      : work.streams.filter((s) => s.runtimeId !== runtimeId && s.runtimeId !== '');
  return { ...work, streams };
}
