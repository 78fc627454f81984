import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { en } from '../../src/i18n/en';
import { languageName, pickLanguage } from '../../src/i18n';
import { zh } from '../../src/i18n/zh';
import { storyLocale } from '../../src/pages/storyLocale';
import { endOf, followed, isAtEnd, nextStop, opening, type Metrics } from '../../src/story/follow';
import { clock, viewWork } from '../../src/story/workText';
import { accentFor, contrast, NIGHT, PAPER, parseHex, readable, type Rgb } from '../../src/ui/accent';
import { ago } from '../../src/ui/when';

describe('the accent of a world', () => {
  const hex = fc
    .tuple(fc.nat(255), fc.nat(255), fc.nat(255))
    .map((c) => `#${c.map((x) => x.toString(16).padStart(2, '0')).join('')}`);

  it('is readable on both papers and carries a title, whatever the world says', () => {
    fc.assert(
      fc.property(fc.oneof(hex, fc.string(), fc.constant(undefined)), (colour) => {
        const accent = accentFor(colour);
        expect(contrast(parseHex(accent.paper)!, PAPER)).toBeGreaterThanOrEqual(4.5);
        expect(contrast(parseHex(accent.night)!, NIGHT)).toBeGreaterThanOrEqual(4.5);
        expect(contrast(parseHex(accent.cloth)!, [0xf6, 0xef, 0xe0])).toBeGreaterThanOrEqual(4.5);
      }),
    );
  });

  it('stays as it is when it can be read', () => {
    expect(accentFor('#2f5d62').paper).toBe('#2f5d62');
    expect(readable([0, 0, 0], PAPER, 4.5)).toEqual([0, 0, 0]);
    expect(parseHex('#abc')).toEqual([0xaa, 0xbb, 0xcc]);
  });

  it.each(['red', 'url(https://evil.example/x)', '#12', '#1234567', 'var(--x)', 'expression(alert(1))', ''])(
    '%s is no colour',
    (value) => {
      expect(parseHex(value)).toBeUndefined();
      expect(accentFor(value)).toEqual(accentFor(undefined));
    },
  );
});

describe('the two themes', () => {
  const css = readFileSync(new URL('../../src/styles/tokens.css', import.meta.url), 'utf8');
  const pairs = new Map(
    [...css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map((m) => [
      m[1]!,
      [parseHex(m[2])!, parseHex(m[3])!] as [Rgb, Rgb],
    ]),
  );
  const inks = [
    'ink',
    'ink-soft',
    'bad',
    'good',
    'warn',
    ...['red', 'amber', 'blue', 'green', 'purple', 'cyan'].map((t) => `tone-${t}`),
  ];
  const grounds = ['paper', 'paper-raised', 'paper-sunk'];

  it.each(inks.flatMap((ink) => grounds.map((ground) => [ink, ground])))(
    '%s on %s reads well',
    (ink, ground) => {
      for (const theme of [0, 1] as const) {
        expect(contrast(pairs.get(ink)![theme], pairs.get(ground)![theme])).toBeGreaterThanOrEqual(4.5);
      }
    },
  );

  it('frames of controls are seen', () => {
    for (const ground of grounds.slice(0, 2)) {
      for (const theme of [0, 1] as const) {
        expect(contrast(pairs.get('rule-strong')![theme], pairs.get(ground)![theme])).toBeGreaterThanOrEqual(
          3,
        );
      }
    }
  });

  it('know no pure black on white, and the accent is measured against their darker grounds', () => {
    expect(pairs.get('paper-sunk')).toEqual([PAPER, NIGHT]);
    expect(css).not.toMatch(/#000000|#ffffff|#fff\b|#000\b/);
  });
});

describe('following the text', () => {
  const m = (more: Partial<Metrics>): Metrics => ({
    top: 0,
    window: 500,
    content: 400,
    page: 0,
    seen: 0,
    ...more,
  });

  it('goes along until the beginning of the page would leave the window', () => {
    expect(followed(m({ content: 600, page: 300 }))).toBe(100);
    expect(followed(m({ content: 5000, page: 300 }))).toBe(280);
    expect(followed(m({ content: 5000, page: 0 }))).toBe(0);
  });

  it('goes on from where the reader stood at the end by themselves', () => {
    expect(followed(m({ top: 900, content: 1600, page: 300, seen: 1340 }))).toBe(1100);
    expect(followed(m({ top: 900, content: 3000, page: 300, seen: 1340 }))).toBe(1320);
  });

  it('never goes back up, and never past the end', () => {
    fc.assert(
      fc.property(
        fc.record({
          top: fc.nat(4000),
          window: fc.integer({ min: 100, max: 1000 }),
          content: fc.nat(9000),
          page: fc.nat(9000),
          seen: fc.nat(9000),
        }),
        (x) => {
          const y = { ...x, top: Math.min(x.top, endOf(x)) };
          expect(followed(y)).toBeGreaterThanOrEqual(y.top);
          expect(followed(y)).toBeLessThanOrEqual(endOf(y));
          expect(opening(y)).toBeLessThanOrEqual(endOf(y));
        },
      ),
    );
  });

  it('knows the end, and the mark leads to the page first and to the end then', () => {
    expect(isAtEnd(m({ top: 450, content: 1000 }))).toBe(true);
    expect(isAtEnd(m({ top: 400, content: 1000 }))).toBe(false);
    const far = m({ top: 0, content: 5000, page: 3000 });
    expect(nextStop(far)).toBe(2980);
    expect(nextStop({ ...far, top: 2980 })).toBe(4500);
  });
});

describe('who is doing what', () => {
  const step = (runtimeId: string, stage: string, status: 'running' | 'success' | 'failed') => ({
    runtimeId,
    pluginId: runtimeId,
    label: `the ${runtimeId}`,
    stage,
    status,
  });
  const work = (...steps: ReturnType<typeof step>[]) => ({
    executionId: 'x',
    n: 1,
    streams: [],
    steps,
    settling: false,
  });

  it('names the stage at work, its runtimes, and what failed on the way', () => {
    const view = viewWork(
      work(
        step('clock', 'pre-turn', 'success'),
        step('dice', 'pre-turn', 'failed'),
        step('narrator', 'narrative', 'running'),
      ),
    );
    expect(view).toEqual({
      stage: 'narrative',
      labels: ['the narrator'],
      failed: ['the dice'],
      settling: false,
      line: [
        { stage: 'pre-turn', state: 'done' },
        { stage: 'narrative', state: 'now' },
        { stage: 'post-turn', state: 'next' },
        { stage: 'audit', state: 'next' },
      ],
    });
  });

  it('has words before the first step, for the set-up, and for a stage it does not know', () => {
    expect(viewWork(undefined)).toMatchObject({ stage: undefined, labels: [] });
    expect(viewWork(work(step('pregame', 'setup', 'running'))).line).toEqual([
      { stage: 'setup', state: 'now' },
    ]);
    expect(viewWork(work(step('odd', 'afterglow', 'running'))).stage).toBe('narrative');
  });

  it.each([
    [0, '0:00'],
    [7_400, '0:07'],
    [65_000, '1:05'],
    [3_660_000, '61:00'],
    [-5, '0:00'],
  ])('%i ms are %s', (ms, shown) => {
    expect(clock(ms)).toBe(shown);
  });
});

describe('languages', () => {
  it.each([
    [null, ['zh-TW', 'en'], 'zh-CN'],
    [null, ['fr-FR', 'en-GB'], 'en'],
    [null, ['de'], 'en'],
    ['zh-CN', ['en'], 'zh-CN'],
    ['xx', ['zh'], 'zh-CN'],
    ['constructor', [], 'en'],
  ] as const)('stored %s, wanted %s: %s', (stored, wanted, picked) => {
    expect(pickLanguage(stored, wanted)).toBe(picked);
  });

  it('a story is told in the reader’s language when the world has it', () => {
    const world = { locales: ['en', 'zh-CN'], defaultLocale: 'en' };
    expect(storyLocale(world, 'zh-CN')).toBe('zh-CN');
    expect(storyLocale({ locales: ['zh-Hans', 'en-US'], defaultLocale: 'zh-Hans' }, 'en')).toBe('en-US');
    expect(storyLocale({ locales: ['ja'], defaultLocale: 'ja' }, 'en')).toBe('ja');
    expect(storyLocale({ locales: [], defaultLocale: '' }, 'en')).toBe('en');
  });

  it('each language is named in itself', () => {
    expect(languageName('zh-CN')).toBe('简体中文');
    expect(languageName('fr')).toMatch(/français/i);
    expect(languageName('not a tag!')).toBe('not a tag!');
  });

  const leaves = (value: unknown, path = ''): [string, string][] =>
    typeof value === 'string'
      ? [[path, value]]
      : Object.entries(value as Record<string, unknown>).flatMap(([k, v]) => leaves(v, `${path}.${k}`));

  it('say the same things with the same blanks, and none is empty', () => {
    const [a, b] = [leaves(en), leaves(zh)];
    expect(b.map(([k]) => k)).toEqual(a.map(([k]) => k));
    const blanks = (s: string) => [...s.matchAll(/\{\{(\w+)\}\}/g)].map((m) => m[1]).sort();
    const other = new Map(b);
    for (const [key, text] of a) {
      const translated = other.get(key) ?? '';
      expect(translated, key).not.toBe('');
      if (!key.endsWith('_one')) expect(blanks(translated), key).toEqual(blanks(text));
    }
  });
});

describe('ago', () => {
  const now = Date.parse('2026-05-10T12:00:00Z');
  it.each([
    ['2026-05-10T11:59:50Z', 'now'],
    ['2026-05-10T09:00:00Z', '3 hours ago'],
    ['2026-05-09T11:00:00Z', 'yesterday'],
    ['2024-05-09T11:00:00Z', '2 years ago'],
    ['2027-01-01T00:00:00Z', 'now'],
    ['soon', ''],
  ])('%s is %s', (iso, words) => {
    expect(ago(iso, now, 'en')).toBe(words);
  });
});
