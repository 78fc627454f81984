import type { SessionState } from '../session/state';
import { announce, nothingTold, type Told } from './finished';

/**
 * Listens to a session and says what is to be read aloud: each paragraph of the story once, when it is finished.
 * What stood on the page when it was opened is the reader's to read.
 */
export class Narration {
  private known: Set<string> | undefined;
  private readonly told = new Map<string, Told>();

  hear(state: SessionState): string[] {
    const messages = state.book?.messages;
    if (messages === undefined) return [];
    const say: string[] = [];

    if (this.known === undefined) {
      this.known = new Set(messages.map((m) => m.id));
    }
    const newest = messages.slice(-NEWEST);
    for (const message of newest) {
      if (this.known.has(message.id)) continue;
      this.known.add(message.id);
      if (message.role === 'user') continue;
      const text = message.segments?.length
        ? message.segments
            .map((s) => (s.speaker === undefined ? s.text : `${s.speaker}: ${s.text}`))
            .join('\n\n')
        : message.text;
      const told = this.told.get(message.runtimeId ?? '') ?? nothingTold;
      say.push(...announce(told, text, true).say);
      this.told.clear();
    }
    for (const stream of state.work?.streams ?? []) {
      const next = announce(this.told.get(stream.runtimeId) ?? nothingTold, stream.text, false);
      this.told.set(stream.runtimeId, next.told);
      say.push(...next.say);
    }
    if (state.work === undefined) this.told.clear();
    return say;
  }
}

/** New messages come at the end; pages of older ones, at the front, are not news. */
const NEWEST = 8;
