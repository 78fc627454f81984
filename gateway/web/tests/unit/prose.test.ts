import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blocks, inlines, spoken, type Inline } from '../../src/story/prose';

const plain = (all: Inline[]): string =>
  all.map((i) => ('text' in i ? i.text : 'children' in i ? plain(i.children) : i.label)).join('');

describe('blocks', () => {
  it.each([
    ['one', ['one']],
    ['one\n\ntwo', ['one', 'two']],
    ['one\r\n\r\n\r\ntwo\r\n', ['one', 'two']],
    ['one\ntwo', ['one\ntwo']],
    ['  \n \n', []],
    ['你好。\n\n再见。', ['你好。', '再见。']],
  ])('%j', (text, paragraphs) => {
    expect(blocks(text)).toEqual(paragraphs.map((t) => ({ kind: 'paragraph', text: t })));
  });

  it.each(['***', '* * *', '---', '———', '~~~', '⁂⁂⁂'])('%s is a break between scenes', (mark) => {
    expect(blocks(`a\n\n${mark}\n\nb`).map((b) => b.kind)).toEqual(['paragraph', 'break', 'paragraph']);
  });

  it('a break needs something before it, and three marks', () => {
    expect(blocks('***\n\na').map((b) => b.kind)).toEqual(['paragraph']);
    expect(blocks('a\n\n--\n\nb').map((b) => b.kind)).toEqual(['paragraph', 'paragraph', 'paragraph']);
  });

  it('BL-05: half a character at the end of a stream is held back', () => {
    const dragon = '龍🐉';
    expect(blocks(dragon.slice(0, 2))).toEqual([{ kind: 'paragraph', text: '龍' }]);
    expect(blocks(dragon)).toEqual([{ kind: 'paragraph', text: dragon }]);
  });
});

describe('inlines', () => {
  const em = (text: string): Inline => ({ kind: 'em', children: [{ kind: 'text', text }] });
  const strong = (text: string): Inline => ({ kind: 'strong', children: [{ kind: 'text', text }] });
  const text = (t: string): Inline => ({ kind: 'text', text: t });

  it.each<[string, Inline[]]>([
    ['plain', [text('plain')]],
    ['a *b* c', [text('a '), em('b'), text(' c')]],
    ['a **b** c', [text('a '), strong('b'), text(' c')]],
    ['*敲了*四下', [em('敲了'), text('四下')]],
    ['2 * 3 * 4', [text('2 * 3 * 4')]],
    ['a * b*', [text('a * b*')]],
    ['*open', [text('*open')]],
    ['**open', [text('**open')]],
    ['*a **b** c*', [{ kind: 'em', children: [text('a '), strong('b'), text(' c')] }]],
    ['snake_case_name', [text('snake_case_name')]],
    ['', []],
  ])('%s', (source, wanted) => {
    expect(inlines(source)).toEqual(wanted);
  });

  it('emphasis that is still being written reaches to the end', () => {
    expect(inlines('she *whis', true)).toEqual([text('she '), em('whis')]);
    expect(inlines('she *', true)).toEqual([text('she ')]);
    expect(inlines('she *', false)).toEqual([text('she *')]);
  });

  it('a link shows its host and only http and https are links', () => {
    expect(inlines('see [the map](https://maps.example.com/a?b=1) now')).toEqual([
      text('see '),
      { kind: 'link', label: 'the map', url: 'https://maps.example.com/a?b=1', host: 'maps.example.com' },
      text(' now'),
    ]);
    expect(inlines('见 https://example.com/路。好')[1]).toMatchObject({ kind: 'link', host: 'example.com' });
    expect(inlines('http://example.com.')[1]).toEqual(text('.'));
    // A host that only looks like another is shown as what it is.
    expect(inlines('[a](https://еxample.com)')[0]).toMatchObject({ host: 'xn--xample-2of.com' });
  });

  it.each([
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](data:text/html,<script>alert(1)</script>)',
    '[x](//evil.example)',
    '[x](file:///etc/passwd)',
    'javascript:alert(1)',
    '<img src=x onerror=alert(1)>',
    '<svg/onload=alert(1)>',
    '<style>*{display:none}</style>',
    '&lt;b&gt; &amp;',
  ])('BL-18: %s is text', (evil) => {
    expect(inlines(evil)).toEqual([text(evil)]);
    expect(spoken(evil)).toBe(evil);
  });

  it('loses no character but its marks, and never fails', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('*', 'a', ' ', '[', ']', '(', ')', '\n', '陆', '🐉', 'h') }),
        (s) => {
          for (const open of [false, true]) {
            const shown = plain(inlines(s, open)).replaceAll('*', '');
            expect(shown).toBe(s.replaceAll('*', ''));
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('reads hostile text in one pass', () => {
    // Each of these takes minutes when marks are looked for to the end of the text again and again.
    for (const bomb of ['*', '**', '[', '*a ', '**a ', '[a](', 'http://', '*[']) {
      const text = bomb.repeat(100_000 / bomb.length);
      expect(plain(inlines(text)).length).toBeGreaterThan(0);
    }
  });
});

it('spoken text has no marks', () => {
  expect(spoken('He said *no* to **me**, see [it](https://example.com/x).')).toBe(
    'He said no to me, see it (example.com).',
  );
});
