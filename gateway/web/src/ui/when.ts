const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/** "3 hours ago", in the reader's language; empty for a time that cannot be read. */
export function ago(iso: string, now: number, language: string): string {
  const then = Date.parse(iso);
  if (Number.isNaN(then)) return '';
  const seconds = Math.max(0, Math.round((now - then) / 1000));
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  const [unit, size] = STEPS.find(([, s]) => seconds >= s) ?? ['second', 1];
  return format.format(unit === 'second' ? 0 : -Math.floor(seconds / size), unit);
}
