import Trash2 from 'lucide-react/icons/trash-2';
import { useCallback, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { deleteSession, listSessions, listWorlds } from '../protocol/http';
import type { Session, WorldSummary } from '../protocol/types';
import { useAnnounce } from '../ui/Announcer';
import { Confirm } from '../ui/Dialog';
import { languageName } from '../i18n';
import { ago } from '../ui/when';
import { Main } from '../ui/Main';
import { Cover } from './Cover';
import { SiteHeader } from './SiteHeader';
import { useLoaded } from './useLoaded';

/** Where everybody arrives: stories to go on with, and worlds to begin in. */
export default function Home() {
  const { t, i18n } = useTranslation();
  const language = i18n.language;
  const load = useCallback(
    async (signal: AbortSignal) => {
      const [sessions, worlds] = await Promise.all([listSessions(signal), listWorlds(language, signal)]);
      return { sessions, worlds };
    },
    [language],
  );
  const [loaded, again] = useLoaded(load);

  return (
    <div className="site">
      <SiteHeader />
      <Main className="home" busy={loaded.state === 'loading'}>
        {loaded.state === 'loading' && <p className="quiet">{t('app.loading')}</p>}
        {loaded.state === 'failed' && (
          <div className="empty-page">
            <h1>{t('home.failed')}</h1>
            <p>{loaded.error.message}</p>
            <button type="button" className="button button--primary" onClick={again}>
              {t('app.tryAgain')}
            </button>
          </div>
        )}
        {loaded.state === 'here' && (
          <Shelves sessions={loaded.value.sessions} worlds={loaded.value.worlds} onChange={again} />
        )}
      </Main>
    </div>
  );
}

function Shelves({
  sessions,
  worlds,
  onChange,
}: {
  sessions: Session[];
  worlds: WorldSummary[];
  onChange: () => void;
}) {
  const { t } = useTranslation();
  const firstVisit = sessions.length === 0;
  return (
    <>
      {firstVisit ? (
        <section className="hello">
          <h1 className="hello__title">{t('home.welcomeTitle')}</h1>
          <p className="hello__text">{t('home.welcomeText')}</p>
        </section>
      ) : (
        <section className="shelf" aria-labelledby="go-on">
          <h1 id="go-on" className="shelf__title">
            {t('home.goOn')}
          </h1>
          <ul className="stories">
            {sessions.map((s) => (
              <Story
                key={s.id}
                session={s}
                world={worlds.find((w) => w.id === s.worldId)}
                onChange={onChange}
              />
            ))}
          </ul>
        </section>
      )}
      <section className="shelf" aria-labelledby="worlds">
        <h2 id="worlds" className="shelf__title">
          {firstVisit ? t('home.worlds') : t('home.begin')}
        </h2>
        {worlds.length === 0 ? (
          <div className="quiet">
            <p>{t('home.noWorlds')}</p>
            <p>{t('home.noWorldsHint')}</p>
          </div>
        ) : (
          <ul className={worlds.length === 1 ? 'worlds worlds--one' : 'worlds'}>
            {worlds.map((w) => (
              <li key={w.id}>
                <WorldCard world={w} />
              </li>
            ))}
          </ul>
        )}
      </section>
    </>
  );
}

export function Story({
  session,
  world,
  onChange,
}: {
  session: Session;
  world?: WorldSummary | undefined;
  onChange: () => void;
}) {
  const { t, i18n } = useTranslation();
  const announce = useAnnounce();
  const [asking, setAsking] = useState(false);
  const [fault, setFault] = useState(false);
  const [now] = useState(() => Date.now());
  const title = session.title === '' ? session.worldName : session.title;
  const turns = session.completedPlayerTurns;
  const facts = [
    ...(session.worldName === title || session.worldName === '' ? [] : [session.worldName]),
    turns === 0 && session.phase === 'setup' ? t('home.notBegun') : t('home.turns', { count: turns }),
    ...(session.status === 'paused'
      ? [t('home.paused')]
      : session.status === 'ended'
        ? [t('home.ended')]
        : []),
  ];
  const when = ago(session.updatedAt, now, i18n.language);
  const remove = () => {
    deleteSession(session.id).then(onChange, () => {
      setFault(true);
      announce(t('home.deleteFailed'));
    });
  };
  return (
    <li className="story-row">
      <Link href={`/sessions/${encodeURIComponent(session.id)}`} className="story-row__link">
        <Cover name={session.worldName} accent={world?.accentColor} />
        <span className="story-row__words">
          <span className="story-row__title" lang={session.locale}>
            {title}
          </span>
          <span className="story-row__facts">{facts.join(' · ')}</span>
          {when !== '' && <span className="story-row__when">{t('home.lastRead', { when })}</span>}
          {fault && <span className="field__error">{t('home.deleteFailed')}</span>}
        </span>
      </Link>
      <button
        type="button"
        className="icon-button"
        aria-label={t('home.delete', { title })}
        onClick={() => {
          setAsking(true);
        }}
      >
        <Trash2 size={16} aria-hidden />
      </button>
      <Confirm
        open={asking}
        onClose={() => {
          setAsking(false);
        }}
        title={t('home.deleteTitle')}
        text={t('home.deleteText', { title })}
        action={t('home.deleteConfirm')}
        danger
        onConfirm={remove}
      />
    </li>
  );
}

function WorldCard({ world }: { world: WorldSummary }) {
  return (
    <Link href={`/worlds/${encodeURIComponent(world.id)}`} className="world-card">
      <Cover name={world.name} accent={world.accentColor} />
      <span className="world-card__words">
        <span className="world-card__name">{world.name}</span>
        <span className="world-card__summary">{world.summary}</span>
        <span className="world-card__facts">
          {[
            ...world.tags.slice(0, 4),
            ...(world.locales.length > 1 ? world.locales.map(languageName) : []),
          ].join(' · ')}
        </span>
      </span>
    </Link>
  );
}
