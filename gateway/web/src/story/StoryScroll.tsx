import { useVirtualizer } from '@tanstack/react-virtual';
import ArrowDown from 'lucide-react/icons/arrow-down';
import {
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type ReactNode,
  type Ref,
} from 'react';
import { useTranslation } from 'react-i18next';
import type { Message } from '../protocol/types';
import { Passage } from './Passage';
import { useReadingScroll } from './useReadingScroll';

export interface StoryHandle {
  /** Brings the newest line into sight. */
  toEnd: () => void;
}

/**
 * The column of story. Older messages are a virtual list; the newest ones and everything that is still moving
 * (`children`) stand in normal flow below it, so that streaming never depends on a guess about heights.
 * A message that leaves the flow takes its measured height along, and nothing on the page moves.
 */
const IN_FLOW = 16;

export function StoryScroll({
  messages,
  locale,
  hasOlder,
  onOlder,
  busy,
  newest,
  head,
  children,
  ref,
}: {
  messages: Message[];
  locale: string;
  hasOlder: boolean;
  onOlder: () => Promise<void>;
  /** A turn runs: there is a line of stages below. */
  busy: boolean;
  /** Changes whenever there is new text at the end. */
  newest: string;
  /** Above the first message, once it is here. */
  head: ReactNode;
  children: ReactNode;
  ref: Ref<StoryHandle>;
}) {
  const { t } = useTranslation();
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const heights = useHeights();
  const { below, goOn, toEnd } = useReadingScroll(scroller, content, newest);
  useImperativeHandle(ref, () => ({ toEnd }), [toEnd]);

  const flowFrom = Math.max(0, messages.length - IN_FLOW);
  const older = useMemo(() => messages.slice(0, flowFrom), [messages, flowFrom]);
  const [margin, setMargin] = useState(0);
  // What stands above the list: its height is a margin to the list's own positions.
  useLayoutEffect(() => {
    setMargin(list.current?.offsetTop ?? 0);
  }, [hasOlder, head]);

  const virtual = useVirtualizer({
    count: older.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => heights.of(older[index] as Message),
    getItemKey: (index) => (older[index] as Message).id,
    scrollMargin: margin,
    overscan: 4,
    // Keeps the place when older pages are put in front. Below zero: it shall never follow the end by itself.
    anchorTo: 'end',
    scrollEndThreshold: -1,
  });

  const firstId = hasOlder ? undefined : messages.find((m) => m.source === 'story')?.id;
  return (
    <div className="story-frame">
      <div
        className="story"
        ref={scroller}
        role="region"
        aria-label={t('story.label')}
        // A region that scrolls must be reachable by keyboard.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        id="story"
      >
        <div className="story__column" ref={content} lang={locale}>
          {hasOlder ? <Older scroller={scroller} onOlder={onOlder} /> : head}
          <div
            ref={list}
            className="story__list"
            style={older.length === 0 ? undefined : { height: virtual.getTotalSize() }}
          >
            {virtual.getVirtualItems().map((item) => {
              const message = older[item.index] as Message;
              return (
                <div
                  key={message.id}
                  className="story__item"
                  data-index={item.index}
                  ref={virtual.measureElement}
                  style={{ transform: `translateY(${String(item.start - margin)}px)` }}
                >
                  <Passage message={message} first={message.id === firstId} />
                </div>
              );
            })}
          </div>
          {messages.slice(flowFrom).map((message) => (
            <div key={message.id} className="story__flow" ref={heights.watch} data-message={message.id}>
              <Passage message={message} first={message.id === firstId} />
            </div>
          ))}
          {children}
        </div>
      </div>
      {below !== 'nothing' && (
        <button type="button" className={busy ? 'more-below more-below--high' : 'more-below'} onClick={goOn}>
          <ArrowDown size={14} aria-hidden /> {below === 'new' ? t('story.newText') : t('story.moreText')}
        </button>
      )}
    </div>
  );
}

/** Remembers how high each message in the flow is; guesses from the text for those never seen. */
function useHeights() {
  const known = useRef(new Map<string, number>());
  const observer = useRef<ResizeObserver | undefined>(undefined);
  const watch = useCallback((element: HTMLElement | null) => {
    if (element === null) return;
    observer.current ??= new ResizeObserver((entries) => {
      for (const entry of entries) {
        const id = (entry.target as HTMLElement).dataset['message'];
        const height = entry.borderBoxSize[0]?.blockSize ?? 0;
        if (id !== undefined && height > 0) known.current.set(id, height);
      }
    });
    const o = observer.current;
    o.observe(element);
    return () => {
      o.unobserve(element);
    };
  }, []);
  return useMemo(
    () => ({ watch, of: (message: Message) => known.current.get(message.id) ?? guess(message) }),
    [watch],
  );
}

/** About 68 Latin or 34 wide characters a line, 33 pixels each. */
function guess(message: Message): number {
  const wide = /[\u2e80-\u9fff\uac00-\ud7af]/.test(message.text);
  const lines = message.text.split('\n').reduce((n, l) => n + 1 + Math.floor(l.length / (wide ? 34 : 68)), 0);
  return 40 + lines * 33;
}

/** Loads the page before when the reader comes near the top, or asks for it. */
function Older({
  scroller,
  onOlder,
}: {
  scroller: React.RefObject<HTMLElement | null>;
  onOlder: () => Promise<void>;
}) {
  const { t } = useTranslation();
  const [state, setState] = useState<'idle' | 'loading' | 'failed'>('idle');
  const mark = useRef<HTMLDivElement>(null);
  const busy = useRef(false);

  const load = useCallback(() => {
    if (busy.current) return;
    busy.current = true;
    setState('loading');
    onOlder().then(
      () => {
        busy.current = false;
        setState('idle');
      },
      () => {
        busy.current = false;
        setState('failed');
      },
    );
  }, [onOlder]);

  useEffect(() => {
    const [root, target] = [scroller.current, mark.current];
    if (root === null || target === null || state !== 'idle') return;
    const observer = new IntersectionObserver(
      (entries) => {
        // The page opens at its end; only a reader who came up here wants more.
        if (
          entries.some((e) => e.isIntersecting) &&
          root.scrollTop < root.scrollHeight - root.clientHeight - 1
        )
          load();
      },
      { root, rootMargin: '800px 0px 0px 0px' },
    );
    observer.observe(target);
    return () => {
      observer.disconnect();
    };
  }, [scroller, load, state]);

  return (
    <div className="older" ref={mark}>
      {state === 'failed' && <p className="older__fault">{t('story.olderFailed')}</p>}
      <button type="button" className="link-button" onClick={load} disabled={state === 'loading'}>
        {state === 'loading' ? t('story.loadingOlder') : t('story.older')}
      </button>
    </div>
  );
}
