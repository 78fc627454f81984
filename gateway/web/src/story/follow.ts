/**
 * Where the page scrolls while text arrives. Pure: positions in, position out; all in pixels from the top of the
 * scrolled content.
 *
 * New text is followed, but never so far that the beginning of the page at hand, which the reader may still be
 * reading, leaves the window at the top. Once the reader scrolls up the position is theirs, until they come back
 * to the end.
 */
export interface Metrics {
  /** Now. */
  top: number;
  /** The height of the window onto the story. */
  window: number;
  /** The height of everything. */
  content: number;
  /** Where the page at hand begins: the player's newest line, or 0. */
  page: number;
  /** What the reader has certainly seen: where they were when they last stood at the end by themselves. */
  seen: number;
}

const MARGIN = 20;
/** Closer than this to the end is at the end. */
const NEAR = 60;

export function endOf(m: Metrics): number {
  return Math.max(0, m.content - m.window);
}

export function isAtEnd(m: Metrics): boolean {
  return endOf(m) - m.top <= NEAR;
}

/** The position to scroll to when text was added and the reader follows. Never goes back up. */
export function followed(m: Metrics): number {
  const limit = Math.max(m.page, m.seen) - MARGIN;
  return Math.max(m.top, Math.min(endOf(m), Math.max(0, limit)));
}

/** Where a page opens: at its end, or, when the newest part is longer than the window, at that part's beginning. */
export function opening(m: Metrics): number {
  return Math.min(endOf(m), Math.max(0, m.page - MARGIN));
}

/** Where the mark for new text leads: to the beginning of the newest part, then to the end. */
export function nextStop(m: Metrics): number {
  const page = opening(m);
  return m.top < page - MARGIN ? page : endOf(m);
}
