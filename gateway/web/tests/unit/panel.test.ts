import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { actions, props } from '../../src/spec/catalogue';
import { panelState, readPanel } from '../../src/spec/panel';
import { ICON_NAMES } from '../../src/ui/icons';
import { specs } from '../mock/texts';

const text = (content: unknown) => ({ component: 'Text', props: { content } });

describe('a specification', () => {
  it('of the guide becomes a flat one, with values where its buttons mean values', () => {
    const panel = readPanel('guide', specs.message[0]?.spec);
    expect(panel.issues).toEqual([]);
    expect(panel).toMatchObject({
      id: 'guide',
      label: 'Guide',
      namespace: 'message',
      group: 'guide',
      icon: 'compass',
    });
    const elements = Object.values(panel.spec?.elements ?? {});
    expect(elements.map((e) => e.type)).toEqual(
      expect.arrayContaining(['Stack', 'Text', 'Prose', 'Row', 'Button']),
    );
    expect(elements.find((e) => e.type === 'Button')?.on).toEqual({
      press: { action: 'draftMessage', params: { text: { $template: '${text}' } } },
    });
    expect(elements.find((e) => e.type === 'Row')?.repeat).toEqual({
      statePath: '/entries/0/value/suggestions',
      key: 'text',
    });
  });

  it('may be bare, flat, or name its parts by type', () => {
    for (const raw of [
      text('a'),
      { type: 'Text', props: { content: 'a' } },
      { view: text('a') },
      { root: 'r', elements: { r: { type: 'Text', props: { content: 'a' }, children: [] } } },
    ]) {
      const panel = readPanel('p', raw);
      expect(panel.issues).toEqual([]);
      expect(Object.values(panel.spec?.elements ?? {})).toMatchObject([
        { type: 'Text', props: { content: 'a' } },
      ]);
    }
  });

  it.each<[string, unknown, string]>([
    ['a component that is not on the list', { component: 'Iframe' }, 'not a component'],
    ['a component of the prototype', { component: 'constructor' }, 'not a component'],
    [
      'one deep inside',
      { component: 'Stack', children: [{ component: 'Stack', children: [{ component: 'script' }] }] },
      'view.children[0].children[0]',
    ],
    ['a newer version', { specVersion: 2, view: text('a') }, 'specVersion'],
    ['nothing', undefined, 'not a component'],
    ['a list', [], 'not a component'],
    ['an action without a name', { component: 'Button', on: { click: {} } }, 'names no action'],
    [
      'a write into the prototype',
      {
        component: 'Button',
        on: { click: { action: 'setState', params: { statePath: '/__proto__/polluted', value: 1 } } },
      },
      'prototype',
    ],
    [
      'a binding into the prototype',
      { component: 'Input', props: { value: { $bindState: '/constructor/prototype/x' } } },
      'prototype',
    ],
    [
      'a template into the prototype',
      { component: 'Text', props: { content: { $template: '${__proto__}' } } },
      'prototype',
    ],
    ['a root that is missing', { root: 'x', elements: { r: { type: 'Text' } } }, 'root'],
    [
      'a circle',
      {
        root: 'a',
        elements: { a: { type: 'Stack', children: ['b'] }, b: { type: 'Stack', children: ['a'] } },
      },
      'contains itself',
    ],
  ])('is refused for %s', (_, raw, reason) => {
    const panel = readPanel('p', raw);
    expect(panel.spec).toBeUndefined();
    expect(panel.issues.join('; ')).toContain(reason);
  });

  it('is refused when it is too deep or too long', () => {
    let deep: Record<string, unknown> = text('a');
    for (let i = 0; i < 100; i++) deep = { component: 'Stack', children: [deep] };
    expect(readPanel('p', deep).issues.join()).toContain('too deeply');
    const wide = { component: 'Stack', children: Array.from({ length: 3000 }, () => text('a')) };
    expect(readPanel('p', wide).issues).toEqual(['more than 2000 elements']);
  });

  it('leaves out actions this page does not know, and confirmations', () => {
    const panel = readPanel('p', {
      component: 'Button',
      props: { label: 'x' },
      on: {
        click: [
          { action: 'invokeCommand', params: { command: '/roll' } },
          { action: 'draftMessage', params: { text: 'hi' }, confirm: { title: 'sure?' } },
        ],
      },
    });
    expect(Object.values(panel.spec?.elements ?? {})[0]?.on).toEqual({
      press: [{ action: 'draftMessage', params: { text: 'hi' } }],
    });
  });

  it('words that look like a prototype are only words', () => {
    expect(readPanel('p', text('the constructor of the __proto__ type')).issues).toEqual([]);
  });

  it('never makes the reader fail, whatever it is', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, maxDepth: 4 }), (raw) => {
        const panel = readPanel('p', raw);
        expect(panel.spec === undefined).toBe(panel.issues.length > 0);
      }),
    );
  });
});

describe('a panel’s state', () => {
  it('is the namespace, with all of it as a list', () => {
    expect(panelState({ 龙胆: { a: 1 }, b: 2 })).toEqual({
      龙胆: { a: 1 },
      b: 2,
      entries: [
        { key: '龙胆', value: { a: 1 } },
        { key: 'b', value: 2 },
      ],
    });
    expect(panelState(undefined)).toEqual({ entries: [] });
  });

  it('has no way to a prototype', () => {
    const state = panelState(JSON.parse('{"__proto__":{"polluted":1},"a":1}') as Record<string, unknown>);
    expect(Object.keys(state)).toEqual(['a', 'entries']);
    expect(Object.getPrototypeOf(state)).toBe(Object.prototype);
  });
});

describe('CATALOGUE.md', () => {
  const page = readFileSync(new URL('../../CATALOGUE.md', import.meta.url), 'utf8');
  const listed = [...page.matchAll(/^\| `(\w+)` +\|/gm)].map((m) => m[1]);

  it('names every component, and no other', () => {
    expect(listed.filter((n) => !(actions as readonly string[]).includes(n ?? '')).sort()).toEqual(
      Object.keys(props).sort(),
    );
  });

  it('names every property of each', () => {
    for (const [name, schema] of Object.entries(props)) {
      const row = page.split('\n').find((l) => l.startsWith(`| \`${name}\` |`)) ?? '';
      for (const key of Object.keys(schema.shape)) expect(row, `${name}.${key}`).toContain(`\`${key}\``);
    }
  });

  it('names every action and icon', () => {
    for (const action of actions) expect(page).toContain(`\`${action}\``);
    for (const icon of ICON_NAMES) expect(page).toContain(`\`${icon}\``);
  });
});
