import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import { dataOf, Panels } from '../panels/Panels';
import { PanelView } from '../panels/PanelView';
import {
  abandonSuspension,
  closeGathering,
  getMessages,
  resumePlugin,
  retrySetup,
  setSessionStatus,
} from '../protocol/http';
import type { InteractionRef, SessionStatus } from '../protocol/types';
import { STOPPED } from '../session/apply';
import { openInteractions } from '../session/messages';
import { isBusy, type Notice, type SessionState } from '../session/state';
import { openingRequestId } from '../session/requestId';
import type { Link } from '../session/connection';
import { HostContext, type SpecHost } from '../spec/host';
import { StoryContext, type StoryActions } from '../story/actions';
import { Composer } from '../story/Composer';
import { FailureCard } from '../story/FailureCard';
import { Narration } from '../story/narration';
import { StageLine } from '../story/StageLine';
import { StoryScroll, type StoryHandle } from '../story/StoryScroll';
import { SuspensionCard } from '../story/SuspensionCard';
import { Tail } from '../story/Tail';
import { WayBack } from '../story/WayBack';
import { useAccent } from '../ui/useAccent';
import { useAnnounce } from '../ui/Announcer';
import { Dialog } from '../ui/Dialog';
import { useNarrow } from '../ui/useNarrow';
import { Main } from '../ui/Main';
import { useTitle } from '../ui/useTitle';
import { blockedSetup, neverBegun, waitsToBegin } from './begin';
import { ClosedBar } from './ClosedBar';
import { NotFound } from './NotFound';
import { NoticeBar } from './NoticeBar';
import { GatheringBar, PausedPluginBar } from './SessionBars';
import { SessionHeader } from './SessionHeader';
import { usePanels } from './usePanels';
import { useSessionStore } from './useSessionStore';

export default function SessionPage({ id }: { id: string }) {
  const { t } = useTranslation();
  const { store, snapshot } = useSessionStore(id);
  const { state, link } = snapshot;
  const { book } = state;
  const story = useRef<StoryHandle>(null);
  const narrow = useNarrow();
  const [panelsOpen, setPanelsOpen] = useState(() => !narrow && readPanelsOpen());
  const panels = usePanels(id, book?.session.activePlugins, book?.session.locale);
  const [statusFault, setStatusFault] = useState<string | undefined>();

  useAccent(book?.world.accentColor);
  useAnnouncements(state, link);
  useTitle(book?.session.title ?? book?.world.name);
  const [, navigate] = useLocation();

  // A session that was only just made begins by itself, once, in whichever tab is first.
  const begins = neverBegun(state) && link === 'live';
  const incarnation = state.position?.incarnation ?? '';
  const begun = useRef('');
  useEffect(() => {
    if (!begins || begun.current === incarnation) return;
    begun.current = incarnation;
    store.send('start_session', {}, openingRequestId(incarnation));
  }, [begins, incarnation, store]);

  const say = useCallback(
    (text: string) => {
      store.dispatch({ kind: 'draft', text: '' });
      store.send('submit_actions', { actions: [{ text }] });
      story.current?.toEnd();
    },
    [store],
  );
  const interject = (text: string) => {
    store.dispatch({ kind: 'draft', text: '' });
    store.send('interject', { text });
  };
  const answer = useCallback(
    (interaction: InteractionRef, fields: Record<string, unknown>, kind: string | undefined) => {
      const { turnId, interactionId, type } = interaction;
      const action = {
        interaction: { turnId, interactionId, type },
        fields,
        ...(kind !== undefined && { kind }),
      };
      store.send('submit_actions', { actions: [action] });
      story.current?.toEnd();
    },
    [store],
  );
  const older = useCallback(async () => {
    const cursor = store.getSnapshot().state.book?.messagesCursor;
    if (cursor === null || cursor === undefined) return;
    const page = await getMessages(id, cursor);
    store.dispatch({ kind: 'older', cursor, page });
  }, [store, id]);
  /** What the page asks for beside the story; what came of it arrives as a frame. */
  const ask = useCallback((request: Promise<unknown>) => {
    setStatusFault(undefined);
    request.catch((error: unknown) => {
      setStatusFault(error instanceof Error ? error.message : String(error));
    });
  }, []);
  const setStatus = (status: SessionStatus) => {
    ask(setSessionStatus(id, status));
  };
  const trySetupAgain = (runtimeId: string) => {
    ask(
      retrySetup(id, runtimeId).then(() => {
        store.send('start_session', {});
      }),
    );
  };
  const togglePanels = useCallback(() => {
    setPanelsOpen((open) => {
      if (!narrow) writePanelsOpen(!open);
      return !open;
    });
  }, [narrow]);

  const busy = isBusy(state);
  const active = book?.session.status === 'active';
  const host = useMemo(
    (): SpecHost => ({
      characters: book?.characters ?? [],
      characterSchema: book?.characterSchema,
      // The first press writes the words into the input, where they can be changed; a second one sends them.
      draftMessage: (text) => {
        if (store.getSnapshot().state.draft.trim() === text.trim()) say(text.trim());
        else store.dispatch({ kind: 'draft', text });
        document.getElementById('line')?.focus();
      },
      sendMessage: (text) => {
        if (text.trim() !== '') say(text.trim());
      },
    }),
    [book?.characters, book?.characterSchema, store, say],
  );
  const actions = useMemo(
    (): StoryActions => ({ answer, outbox: state.outbox, notice: state.notice, open: active && !busy }),
    [answer, state.outbox, state.notice, active, busy],
  );

  if (link === 'gone') return <NotFound title={t('story.notFound')} hint={t('story.notFoundHint')} />;
  if (book === undefined) {
    return (
      <div className="session">
        <SessionHeader panelsOpen={false} />
        <Main className="opening">
          <p>{t('link.connecting')}</p>
        </Main>
        {link === 'lost' && (
          <LostBar
            onRetry={() => {
              store.retryNow();
            }}
          />
        )}
      </div>
    );
  }

  const asked = openInteractions(book.messages).length > 0 || book.suspensions.length > 0;
  const blocked = blockedSetup(state);
  const failed =
    active &&
    blocked === undefined &&
    !busy &&
    state.outbox.length === 0 &&
    ['failed', 'interrupted'].includes(book.execution.state);
  const retry = () => {
    const { type, payload } = book.execution.retry ?? { type: 'retry_turn' as const, payload: {} };
    store.send(type, payload);
    story.current?.toEnd();
  };
  const around = (
    <Panels
      panels={panels.right}
      pluginData={book.pluginData}
      characters={book.characters}
      characterSchema={book.characterSchema}
      world={book.world}
    />
  );

  return (
    <HostContext value={host}>
      <StoryContext value={actions}>
        <div className={panelsOpen && !narrow ? 'session session--wide' : 'session'}>
          <a className="skip-link" href="#story">
            {t('app.skipToStory')}
          </a>
          <SessionHeader book={book} panelsOpen={panelsOpen} onPanels={togglePanels} onStatus={setStatus} />
          <Main className="reading">
            {book.offline && <OfflineNote />}
            <StoryScroll
              ref={story}
              messages={book.messages}
              locale={book.session.locale}
              hasOlder={book.messagesCursor !== null}
              onOlder={older}
              busy={busy}
              newest={newestText(state)}
              head={<TitlePage state={state} />}
            >
              <Tail
                state={state}
                link={link}
                onTakeBack={(requestId) => {
                  store.dispatch({ kind: 'takeBack', requestId });
                }}
              />
              {failed && (
                <FailureCard
                  execution={book.execution}
                  onRetry={retry}
                  onEdit={(text) => {
                    store.dispatch({ kind: 'draft', text });
                    document.getElementById('line')?.focus();
                  }}
                />
              )}
              {active && !busy && !failed && link === 'live' && state.outbox.length === 0 && (
                <WayBack
                  tree={book.tree}
                  onBack={() => {
                    store.send('move_head', {});
                  }}
                  onAnew={() => {
                    store.send('regenerate', {});
                    story.current?.toEnd();
                  }}
                  onGo={(turnId) => {
                    store.send('move_head', { turnId });
                  }}
                />
              )}
              {active &&
                !busy &&
                book.suspensions.map((suspension) => (
                  <SuspensionCard
                    key={suspension.id}
                    suspension={suspension}
                    onAnswer={(data) => {
                      store.send('resume_suspension', { suspensionId: suspension.id, data });
                    }}
                    onLeave={() => {
                      ask(abandonSuspension(id, suspension.id));
                    }}
                  />
                ))}
              {blocked !== undefined && !busy && (
                <section className="failure">
                  <p>{t('failure.setupBlocked', { reason: blocked.reason })}</p>
                  <div className="failure__actions">
                    <button
                      type="button"
                      className="button button--primary"
                      onClick={() => {
                        trySetupAgain(blocked.runtimeId);
                      }}
                    >
                      {t('failure.retry')}
                    </button>
                  </div>
                </section>
              )}
              {waitsToBegin(state) && blocked === undefined && begun.current === incarnation && (
                <div className="begin">
                  <button
                    type="button"
                    className="button button--primary"
                    onClick={() => {
                      store.send('start_session', {});
                    }}
                  >
                    {t('story.beginNow')}
                  </button>
                </div>
              )}
              {active &&
                !busy &&
                !failed &&
                !asked &&
                state.outbox.length === 0 &&
                panels.message
                  .filter((panel) => Object.keys(dataOf(panel, book.pluginData) ?? {}).length > 0)
                  .map((panel) => (
                    <aside
                      key={`${panel.pluginId}/${panel.id}`}
                      className="message-surface"
                      aria-label={panel.label}
                    >
                      <h2 className="visually-hidden">{panel.label}</h2>
                      <PanelView panel={panel} data={dataOf(panel, book.pluginData)} />
                    </aside>
                  ))}
            </StoryScroll>
          </Main>
          <footer className="desk">
            <div className="desk__inner">
              <div className="desk__status">
                {busy && (
                  <StageLine
                    key={book.execution.requestId ?? ''}
                    work={state.work}
                    startedAt={book.execution.startedAt}
                    stoppable={link === 'live'}
                    onStop={() => {
                      store.stopTurn();
                      // The button goes with the turn: the focus goes where the reader goes on.
                      document.getElementById('line')?.focus();
                    }}
                  />
                )}
              </div>
              {link === 'lost' && (
                <LostBar
                  onRetry={() => {
                    store.retryNow();
                  }}
                />
              )}
              {book.gathering !== undefined && (
                <GatheringBar
                  gathering={book.gathering}
                  seats={book.seats}
                  onBegin={() => {
                    ask(closeGathering(id));
                  }}
                />
              )}
              {book.pausedPlugins.map((pluginId) => (
                <PausedPluginBar
                  key={pluginId}
                  pluginId={pluginId}
                  onResume={() => {
                    ask(resumePlugin(id, pluginId));
                  }}
                />
              ))}
              {state.notice !== undefined && !toldByForm(state.notice) && (
                <NoticeBar
                  notice={state.notice}
                  onDismiss={() => {
                    store.dispatch({ kind: 'dismiss' });
                  }}
                />
              )}
              {statusFault !== undefined && (
                <p className="bar bar--fault">{t('input.statusFailed', { error: statusFault })}</p>
              )}
              {active ? (
                <Composer
                  draft={state.draft}
                  questionOpen={asked}
                  onDraft={(text) => {
                    store.dispatch({ kind: 'draft', text });
                  }}
                  onSend={say}
                  onInterject={busy && link === 'live' ? interject : undefined}
                />
              ) : (
                <ClosedBar
                  status={book.session.status}
                  onResume={() => {
                    setStatus('active');
                  }}
                  onLeave={() => {
                    navigate('/');
                  }}
                />
              )}
            </div>
          </footer>
          {panelsOpen && !narrow && (
            <aside className="around" aria-label={t('panels.label')}>
              <h2 className="visually-hidden">{t('panels.label')}</h2>
              {around}
            </aside>
          )}
          {narrow && (
            <Dialog sheet open={panelsOpen} onClose={togglePanels} title={t('panels.label')}>
              {around}
            </Dialog>
          )}
        </div>
      </StoryContext>
    </HostContext>
  );
}

/** Faults of a form stand at its fields; once is enough. */
function toldByForm(notice: Notice): boolean {
  return notice.code === 'form_rejected' && notice.interactionId !== undefined;
}

/** Names the newest text of the page: another name means there is more of it. */
function newestText(state: SessionState): string {
  const streamed = state.work?.streams.reduce((n, s) => n + s.text.length, 0) ?? 0;
  const last = state.book?.messages.at(-1)?.id ?? '';
  return [last, state.pending.length, streamed, state.book?.execution.state].join(' ');
}

/** The first page: the world's name and the story's, before the first word. */
function TitlePage({ state }: { state: SessionState }) {
  const { world, session } = state.book as NonNullable<SessionState['book']>;
  return (
    <header className="title-page">
      <p className="title-page__world">{world.name}</p>
      {session.title !== '' && session.title !== world.name && (
        <p className="title-page__title">{session.title}</p>
      )}
      <div className="title-page__mark" aria-hidden>
        ❦
      </div>
    </header>
  );
}

function LostBar({ onRetry }: { onRetry: () => void }) {
  const { t } = useTranslation();
  return (
    <div className="bar bar--lost">
      <p>{t('link.lost')}</p>
      <button type="button" className="link-button" onClick={onRetry}>
        {t('link.now')}
      </button>
    </div>
  );
}

function OfflineNote() {
  const { t } = useTranslation();
  return (
    <details className="offline-note">
      <summary>{t('offline.title')}</summary>
      <p>{t('offline.text')}</p>
    </details>
  );
}

/** Reads aloud what was finished, and how the connection and the turn are. */
function useAnnouncements(state: SessionState, link: Link): void {
  const say = useAnnounce();
  const { t } = useTranslation();
  const [narration] = useState(() => new Narration());
  useEffect(() => {
    for (const text of narration.hear(state)) say(text);
  }, [narration, state, say]);

  const was = useRef(link);
  useEffect(() => {
    if (link === 'lost' && was.current !== 'lost') say(t('link.lost'));
    if (link === 'live' && was.current === 'lost') say(t('link.back'));
    was.current = link;
  }, [link, say, t]);

  const outcome = state.book?.execution.state;
  const reason = state.book?.execution.abortReason;
  const before = useRef(outcome);
  useEffect(() => {
    if (before.current === 'running' && (outcome === 'failed' || outcome === 'interrupted')) {
      const what = reason === STOPPED ? t('failure.interrupted') : t('failure.failed');
      say(`${what} ${t('failure.safe')}`);
    }
    before.current = outcome;
  }, [outcome, reason, say, t]);
}

const PANELS_KEY = 'covel.panels';

function readPanelsOpen(): boolean {
  try {
    return localStorage.getItem(PANELS_KEY) !== 'closed' && window.innerWidth >= 1200;
  } catch {
    return false;
  }
}

function writePanelsOpen(open: boolean): void {
  try {
    localStorage.setItem(PANELS_KEY, open ? 'open' : 'closed');
  } catch {
    // Then the choice holds for this page only.
  }
}
