import { blocks, spoken } from './prose';

/**
 * Decides what a screen reader is told while prose streams: each paragraph once, when it is finished, and never
 * a token. A value that is passed along; `next` is pure.
 */
export interface Told {
  /** The paragraphs of the passage at hand that were announced. */
  paragraphs: string[];
}

export const nothingTold: Told = { paragraphs: [] };

/**
 * The paragraphs of `text` to announce now. While the passage is being written (`final` false) its last paragraph
 * is not finished. A final text that differs from the draft is read from where it differs.
 */
export function announce(told: Told, text: string, final: boolean): { told: Told; say: string[] } {
  const all = blocks(text).flatMap((b) => (b.kind === 'paragraph' ? [spoken(b.text)] : []));
  const finished = final ? all : all.slice(0, -1);
  let same = 0;
  while (same < told.paragraphs.length && told.paragraphs[same] === finished[same]) same++;
  // A rejected draft begins again: what was said stays said, the new text is read as it comes.
  return { told: { paragraphs: finished }, say: finished.slice(same) };
}
