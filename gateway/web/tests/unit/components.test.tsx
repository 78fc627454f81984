// @vitest-environment jsdom
import { createStateStore } from '@json-render/core';
import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { en } from '../../src/i18n/en';
import { Passage } from '../../src/story/Passage';
import { Prose } from '../../src/story/Prose';
import { PanelView } from '../../src/panels/PanelView';
import { props } from '../../src/spec/catalogue';
import { HostContext, type SpecHost } from '../../src/spec/host';
import { readPanel, readView } from '../../src/spec/panel';
import { SpecView } from '../../src/spec/SpecView';
import { specs } from '../mock/texts';
import { Composer } from '../../src/story/Composer';
import { StoryContext } from '../../src/story/actions';
import { SuspensionCard } from '../../src/story/SuspensionCard';
import { GatheringBar } from '../../src/pages/SessionBars';
import { message } from './build';

beforeAll(async () => {
  await i18next.use(initReactI18next).init({ lng: 'en', defaultNS: 'ui', resources: { en: { ui: en } } });
});
afterEach(cleanup);

const EVIL = [
  '<img src=x onerror=alert(1)>',
  '<svg/onload=alert(1)>',
  '[x](javascript:alert(1))',
  '<style>*{display:none}</style>',
  '"><script>alert(1)</script>',
];

/** Elements that only markup could have made. */
const foreign = (root: ParentNode) =>
  root.querySelectorAll('img, svg:not(.lucide), script, style, iframe, a[href]');

function host(more: Partial<SpecHost> = {}): SpecHost {
  return { characters: [], characterSchema: undefined, draftMessage: vi.fn(), sendMessage: vi.fn(), ...more };
}

function draw(view: unknown, more: Partial<SpecHost> = {}, state: Record<string, unknown> = {}) {
  const issues: string[] = [];
  const spec = readView(view, issues);
  expect(issues).toEqual([]);
  return render(
    <HostContext value={host(more)}>
      <SpecView spec={spec!} store={createStateStore(state)} />
    </HostContext>,
  );
}

describe('BL-18: text stays text', () => {
  it.each(EVIL)('%s in prose, in a name, in a player’s line', (evil) => {
    const { container } = render(
      <>
        <Prose text={evil} />
        <Passage
          message={message('m1', 1, { source: 'player', role: 'user', text: evil, characterName: evil })}
          first={false}
        />
        <Passage
          message={message('m2', 2, {
            text: '',
            segments: [{ kind: 'dialogue', text: evil, speaker: evil }],
          })}
          first
        />
      </>,
    );
    expect(foreign(container)).toHaveLength(0);
    expect(container.textContent.split(evil)).toHaveLength(6);
  });

  it.each(Object.keys(props))('%s draws hostile text as text', (component) => {
    const evil = EVIL.join(' ');
    const all = Object.fromEntries(
      [
        'content',
        'label',
        'title',
        'message',
        'prompt',
        'name',
        'notice',
        'fault',
        'error',
        'category',
        'placeholder',
        'description',
        'icon',
      ].map((p) => [p, evil]),
    );
    const lists = { tags: [evil], items: [evil, { label: evil, value: evil, text: evil }], options: [evil] };
    const { container } = draw({ component, props: { ...all, ...lists } });
    expect(foreign(container)).toHaveLength(0);
  });
});

describe('components', () => {
  const odd = [undefined, null, 7, true, 'x', [], {}, [null, 7, {}], { $odd: 1 }];
  it.each(Object.keys(props))('%s bears any properties', (component) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    for (const value of odd) {
      const keys = Object.keys(props[component as keyof typeof props].shape);
      draw({ component, props: Object.fromEntries(keys.map((k) => [k, value])) });
      cleanup();
    }
    warn.mockRestore();
  });

  it('a part that fails says so in its place, the rest is drawn', () => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    draw(
      {
        component: 'Stack',
        children: [
          { component: 'Text', props: { content: 'before' } },
          {
            component: 'Row',
            repeat: { statePath: '/n' },
            children: [{ component: 'Text', props: { content: 'never' } }],
          },
          { component: 'Text', props: { content: 'after' } },
        ],
      },
      {},
      { n: 7 },
    );
    expect(screen.getByText('before')).toBeTruthy();
    expect(screen.getByText('after')).toBeTruthy();
    expect(screen.getByText(en.panels.brokenPart)).toBeTruthy();
    error.mockRestore();
    warn.mockRestore();
  });

  it('the guide’s suggestions bring their words to the input', async () => {
    const draftMessage = vi.fn();
    const data = {
      current: {
        scene: 'Quay',
        recap: 'R',
        decision: 'D',
        suggestions: [{ text: '问问龙胆' }, { text: 'Wait' }],
      },
    };
    render(
      <HostContext value={host({ draftMessage })}>
        <PanelView panel={readPanel('guide', specs.message[0]?.spec)} data={data} />
      </HostContext>,
    );
    await act(async () => {
      fireEvent.click(screen.getByRole('button', { name: '问问龙胆' }));
      await Promise.resolve();
    });
    expect(draftMessage).toHaveBeenCalledExactlyOnceWith('问问龙胆');
  });

  it('the character sheet names fields by the schema', () => {
    draw(
      { component: 'CharacterFieldsView', props: { type: 'player' } },
      {
        characters: [
          { id: 'p', name: '陆青云', type: 'player', fields: { root: '水灵根', extra: ['a', 'b'] } },
        ],
        characterSchema: { attributes: [{ id: 'root', name: '灵根' }] },
      },
    );
    expect(screen.getByText('灵根').nextSibling?.textContent).toBe('水灵根');
    expect(screen.getByText('extra').nextSibling?.textContent).toBe('a, b');
  });

  it('expressions: count, join, truncate, math, pluralize, concat', () => {
    const state = { list: ['a', 'b', '龙胆🐉'], n: 4 };
    const shown = (content: unknown) => {
      const { container } = draw({ component: 'Text', props: { content } }, {}, state);
      const text = container.textContent;
      cleanup();
      return text;
    };
    expect(shown({ $count: { $state: '/list' } })).toBe('3');
    expect(shown({ $join: { $state: '/list' }, separator: '、' })).toBe('a、b、龙胆🐉');
    expect(shown({ $truncate: { $state: '/list/2' }, length: 2 })).toBe('龙胆…');
    expect(shown({ $math: 'multiply', a: { $state: '/n' }, b: 2.5 })).toBe('10');
    expect(shown({ $math: 'divide', a: 1, b: 0 })).toBe('0');
    expect(shown({ $pluralize: { $state: '/n' }, one: 'lamp', other: 'lamps' })).toBe('4 lamps');
    expect(shown({ $concat: ['n=', { $state: '/n' }] })).toBe('n=4');
    expect(shown({ $format: 0.25, style: 'percent' })).toBe('25%');
  });
});

describe('a panel', () => {
  const panel = readPanel('codex', {
    label: 'Codex',
    dataSource: { namespace: 'entries' },
    emptyState: { message: 'Nothing learnt.' },
    view: {
      component: 'Stack',
      children: [
        { component: 'Input', props: { label: 'Search', value: { $bindState: '/ui/search' } } },
        {
          component: 'CardList',
          repeat: { statePath: '/entries', key: 'key' },
          children: [{ component: 'Text', props: { content: { $item: 'value' } } }],
        },
      ],
    },
  });

  it('says when it has nothing', () => {
    render(<PanelView panel={panel} data={undefined} />);
    expect(screen.getByText('Nothing learnt.')).toBeTruthy();
  });

  it('follows its data and keeps what the reader typed', () => {
    const { rerender } = render(<PanelView panel={panel} data={{ 'a/b~c': 'one', gone: 'two' }} />);
    fireEvent.change(screen.getByLabelText('Search'), { target: { value: 'lamp' } });
    rerender(<PanelView panel={panel} data={{ 'a/b~c': 'changed', 新: 'three' }} />);
    expect(screen.queryByText('two')).toBeNull();
    expect(screen.getByText('changed')).toBeTruthy();
    expect(screen.getByText('three')).toBeTruthy();
    expect(screen.getByLabelText<HTMLInputElement>('Search').value).toBe('lamp');
  });

  it('that is not understood says so', () => {
    render(<PanelView panel={readPanel('x', { component: 'Nope' })} data={{ a: 1 }} />);
    expect(screen.getByText(en.panels.invalid)).toBeTruthy();
  });
});

describe('a run that waits', () => {
  const waits = (resumeSchema: unknown) => {
    const onAnswer = vi.fn();
    const onLeave = vi.fn();
    const suspension = {
      id: 's1',
      turnId: 't1',
      runtimeId: 'guide/ask',
      pluginId: 'guide',
      reason: '你要跟谁走？',
      resumeSchema,
    };
    render(
      <StoryContext value={{ answer: vi.fn(), outbox: [], notice: undefined, open: true }}>
        <SuspensionCard suspension={suspension} onAnswer={onAnswer} onLeave={onLeave} />
      </StoryContext>,
    );
    return { onAnswer, onLeave };
  };

  it('is answered with one press where there are few answers, or left', async () => {
    const { onAnswer, onLeave } = waits({ enum: ['龙胆', 'Mara'] });
    await act(async () => {
      fireEvent.click(screen.getByRole('button', { name: '龙胆' }));
      await Promise.resolve();
    });
    expect(onAnswer).toHaveBeenCalledExactlyOnceWith('龙胆');
    fireEvent.click(screen.getByRole('button', { name: en.waiting.leave }));
    expect(onLeave).toHaveBeenCalledOnce();
  });

  it('says so when what had to be JSON is none, and takes it when it is', async () => {
    const { onAnswer } = waits({ type: 'object', properties: { extra: { type: 'object' } } });
    const submit = async (text: string) => {
      await act(async () => {
        fireEvent.change(screen.getByRole('textbox', { name: /extra/ }), { target: { value: text } });
        fireEvent.click(screen.getByRole('button', { name: en.form.submit }));
        await Promise.resolve();
      });
    };
    await submit('{"a":');
    expect(screen.getByRole('alert').textContent).toBe(en.waiting.json);
    expect(onAnswer).not.toHaveBeenCalled();
    await submit('{"a":1}');
    expect(onAnswer).toHaveBeenCalledExactlyOnceWith({ extra: { a: 1 } });
    expect(screen.queryByRole('alert')).toBeNull();
  });
});

describe('the input while a turn runs', () => {
  it('Enter keeps a line for the next turn, the button says it into this one', () => {
    const onSend = vi.fn();
    const onInterject = vi.fn();
    render(
      <Composer
        draft=" 等一下！ "
        onDraft={vi.fn()}
        onSend={onSend}
        onInterject={onInterject}
        questionOpen={false}
      />,
    );
    fireEvent.click(screen.getByRole('button', { name: en.input.interject }));
    expect(onInterject).toHaveBeenCalledExactlyOnceWith('等一下！');
    expect(onSend).not.toHaveBeenCalled();
    fireEvent.keyDown(screen.getByRole('textbox'), { key: 'Enter' });
    expect(onSend).toHaveBeenCalledExactlyOnceWith('等一下！');
  });
});

it('a gathering names who is waited for, and begins when someone says so', () => {
  const onBegin = vi.fn();
  const seats = [
    { id: 'a', name: 'Aya' },
    { id: 'b', name: '陆青云' },
  ];
  const gathering = { submissions: [{ seatId: 'a', requestId: 'r1' }], waitingFor: ['b', 'gone'] };
  render(<GatheringBar gathering={gathering} seats={seats} onBegin={onBegin} />);
  expect(screen.getByRole('status').textContent).toContain('陆青云 and gone');
  fireEvent.click(screen.getByRole('button', { name: en.gathering.begin }));
  expect(onBegin).toHaveBeenCalledOnce();
});
