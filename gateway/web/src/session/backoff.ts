const FIRST_MS = 400;
const LONGEST_MS = 15_000;

/**
 * How long to wait before the nth attempt (from 0) to reconnect: twice as long each time, up to 15 s, and a
 * random half of it, so that a thousand pages do not knock on a restarted server at the same moment.
 * `random` yields 0 ≤ x < 1.
 */
export function backoffMs(attempt: number, random: () => number): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt, 16));
  return Math.round(full / 2 + (full / 2) * random());
}
