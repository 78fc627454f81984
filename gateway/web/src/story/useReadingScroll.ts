import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react';
import { endOf, followed, isAtEnd, nextStop, opening, type Metrics } from './follow';

/** Less than this below the window is only the margin of the page: everything is in sight. */
const LITTLE = 60;
/** Layouts within this time of its first are a page's opening; later growth is news. */
const OPENING_MS = 400;

/** What lies under the window: nothing, more of what the reader came from, or text that is new since. */
export type Below = 'nothing' | 'more' | 'new';

/**
 * Binds `follow.ts` to the two elements: the window (`scroller`) and everything in it (`content`).
 * `newest` names the newest text and changes with it. `below` says what lies under the window; `goOn` leads to it;
 * `toEnd` follows again, after the player's own line.
 */
export function useReadingScroll(
  scroller: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
  newest: string,
): { below: Below; goOn: () => void; toEnd: () => void } {
  const [below, setBelow] = useState<Below>('nothing');
  const following = useRef(true);
  const opened = useRef(false);
  /** How far the reader has certainly seen, and on which page (by its line): on another page it means nothing. */
  const seen = useRef({ line: '', to: 0 });
  /** Our own last position: a scroll event that finds it there is not the reader's. */
  const ours = useRef(-1);
  /** There is text the reader has not come to since it arrived. */
  const news = useRef(false);

  const measure = useCallback((): Metrics | undefined => {
    const [s, c] = [scroller.current, content.current];
    if (s === null || c === null) return undefined;
    const line = newestLine(c);
    const page =
      line === undefined ? 0 : line.getBoundingClientRect().top - s.getBoundingClientRect().top + s.scrollTop;
    return {
      top: s.scrollTop,
      window: s.clientHeight,
      content: s.scrollHeight,
      page,
      seen: seen.current.line === nameOf(line) ? seen.current.to : 0,
    };
  }, [scroller, content]);

  const markSeen = useCallback(
    (to: number) => {
      const line = content.current === null ? undefined : newestLine(content.current);
      seen.current = { line: nameOf(line), to: to - LITTLE };
    },
    [content],
  );

  const go = useCallback(
    (top: number, smooth: boolean) => {
      const s = scroller.current;
      if (s === null || Math.abs(s.scrollTop - top) < 1) return;
      const calm = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
      if (smooth && !calm) s.scrollTo({ top, behavior: 'smooth' });
      else {
        s.scrollTop = top;
        ours.current = s.scrollTop;
      }
    },
    [scroller],
  );

  const look = useCallback((m: Metrics) => {
    const rest = endOf(m) - m.top > LITTLE;
    if (!rest) news.current = false;
    setBelow(!rest ? 'nothing' : news.current ? 'new' : 'more');
  }, []);

  // Before the effect below: its first run knows already that this text is new.
  useLayoutEffect(() => {
    news.current = opened.current;
  }, [newest]);

  // Growth of the text, of an older page that was measured, of the window itself.
  useLayoutEffect(() => {
    const [s, c] = [scroller.current, content.current];
    if (s === null || c === null) return;
    const settle = () => {
      const m = measure();
      if (m === undefined) return;
      if (!opened.current) go(opening(m), false);
      else if (following.current) go(followed(m), false);
      const now = measure();
      if (now !== undefined) look(now);
      // When content shrinks the browser moves the window by itself: no reader did that.
      ours.current = s.scrollTop;
    };
    const observer = new ResizeObserver(settle);
    observer.observe(c);
    observer.observe(s);
    settle();
    const timer = setTimeout(() => {
      opened.current = true;
    }, OPENING_MS);
    return () => {
      observer.disconnect();
      clearTimeout(timer);
    };
  }, [scroller, content, measure, go, look]);

  useEffect(() => {
    const s = scroller.current;
    if (s === null) return;
    const onScroll = () => {
      const m = measure();
      if (m === undefined) return;
      const mine = Math.abs(s.scrollTop - ours.current) < 2;
      if (!mine && opened.current) {
        ours.current = -1;
        following.current = isAtEnd(m);
        if (following.current) markSeen(m.top + m.window);
      }
      look(m);
    };
    const byHand = () => {
      opened.current = true;
    };
    s.addEventListener('scroll', onScroll, { passive: true });
    s.addEventListener('wheel', byHand, { passive: true });
    s.addEventListener('touchmove', byHand, { passive: true });
    s.addEventListener('keydown', byHand);
    return () => {
      s.removeEventListener('scroll', onScroll);
      s.removeEventListener('wheel', byHand);
      s.removeEventListener('touchmove', byHand);
      s.removeEventListener('keydown', byHand);
    };
  }, [scroller, measure, look, markSeen]);

  const goOn = useCallback(() => {
    const m = measure();
    if (m === undefined) return;
    const stop = nextStop(m);
    following.current = true;
    if (stop === endOf(m)) markSeen(stop + m.window);
    go(stop, true);
  }, [measure, go, markSeen]);

  const toEnd = useCallback(() => {
    opened.current = true;
    following.current = true;
    requestAnimationFrame(() => {
      const m = measure();
      if (m !== undefined) go(followed(m), false);
    });
  }, [measure, go]);

  return { below, goOn, toEnd };
}

function newestLine(content: HTMLElement): HTMLElement | undefined {
  return [...content.querySelectorAll<HTMLElement>('[data-line]')].at(-1);
}

/** A line is known by its words: it is drawn anew on its way from the input into history. */
function nameOf(line: HTMLElement | undefined): string {
  return line?.dataset['line'] ?? '';
}
