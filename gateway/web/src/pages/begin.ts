import { openInteractions } from '../session/messages';
import { isBusy, type SessionState } from '../session/state';

/**
 * Whether a session waits for someone to begin it: nobody is asked anything, nothing runs, and either the set-up is
 * not finished or not one word is written.
 */
export function waitsToBegin(state: SessionState): boolean {
  const { book } = state;
  if (book === undefined || state.stale || state.catchUp !== undefined) return false;
  if (book.session.status !== 'active' || isBusy(state) || state.outbox.length > 0) return false;
  const { state: execution } = book.execution;
  if (execution !== 'idle' && execution !== 'completed') return false;
  if (openInteractions(book.messages).length > 0) return false;
  return book.session.phase === 'setup' || book.messages.length === 0;
}

/** Nobody has begun it yet: the page may, by itself. */
export function neverBegun(state: SessionState): boolean {
  return waitsToBegin(state) && state.book?.execution.state === 'idle';
}

/** The step at which the set-up cannot go on, and why, in the words of the runtime that is blocked. */
export function blockedSetup(state: SessionState): { runtimeId: string; reason: string } | undefined {
  for (const [runtimeId, r] of Object.entries(state.book?.session.setupRuntimes ?? {})) {
    if (r.status === 'blocked') return { runtimeId, reason: r.reason ?? r.lastError ?? '' };
  }
  return undefined;
}
