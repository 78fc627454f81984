import type { Outgoing, SessionState } from './state';

/**
 * What survives a reload of this tab: the text in the input and the commands that are not stored yet.
 * One entry per session and tab (session storage): two tabs never overwrite each other's text.
 */
export interface Kept {
  draft: string;
  outbox: Outgoing[];
}

const key = (sessionId: string) => `covel.kept.${sessionId}`;

export function loadKept(storage: Storage, sessionId: string): Kept | undefined {
  try {
    const raw = storage.getItem(key(sessionId));
    if (raw === null) return undefined;
    const kept = JSON.parse(raw) as Partial<Kept>;
    const outbox = Array.isArray(kept.outbox) ? kept.outbox : [];
    return {
      draft: typeof kept.draft === 'string' ? kept.draft : '',
      outbox: outbox.filter((o) => typeof o.command.requestId === 'string'),
    };
  } catch {
    return undefined;
  }
}

/** Writes it down, or forgets the entry when there is nothing to keep. A full storage is no reason to fail. */
export function saveKept(storage: Storage, sessionId: string, state: SessionState): void {
  try {
    if (state.draft === '' && state.outbox.length === 0) storage.removeItem(key(sessionId));
    else storage.setItem(key(sessionId), JSON.stringify({ draft: state.draft, outbox: state.outbox }));
  } catch {
    // Private windows may refuse to store: the text is then kept by the page alone.
  }
}
