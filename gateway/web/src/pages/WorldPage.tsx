import { RadioGroup } from 'radix-ui';
import { useCallback, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import { languageName } from '../i18n';
import { createSession, getWorld, listSessions } from '../protocol/http';
import type { Session, World } from '../protocol/types';
import { Prose } from '../story/Prose';
import { useAccent } from '../ui/useAccent';
import { Main } from '../ui/Main';
import { useTitle } from '../ui/useTitle';
import { Cover } from './Cover';
import { Story } from './Home';
import { NotFound } from './NotFound';
import { storyLocale } from './storyLocale';
import { SiteHeader } from './SiteHeader';
import { useLoaded } from './useLoaded';

/** The title page of a world: what it is, in which language to read it, and the way in. */
export default function WorldPage({ id }: { id: string }) {
  const { t, i18n } = useTranslation();
  const language = i18n.language;
  const load = useCallback(
    async (signal: AbortSignal) => {
      const [world, sessions] = await Promise.all([getWorld(id, language, signal), listSessions(signal)]);
      return { world, sessions: sessions.filter((s) => s.worldId === id) };
    },
    [id, language],
  );
  const [loaded, again] = useLoaded(load);
  useAccent(loaded.state === 'here' ? loaded.value.world.accentColor : undefined);
  useTitle(loaded.state === 'here' ? loaded.value.world.name : undefined);

  if (loaded.state === 'failed') {
    const missing = loaded.error.status === 404;
    return <NotFound title={missing ? t('world.notFound') : loaded.error.message} />;
  }
  return (
    <div className="site">
      <SiteHeader />
      <Main className="world" busy={loaded.state === 'loading'}>
        {loaded.state === 'loading' ? (
          <p className="quiet">{t('app.loading')}</p>
        ) : (
          <Title world={loaded.value.world} sessions={loaded.value.sessions} onChange={again} />
        )}
      </Main>
    </div>
  );
}

function Title({ world, sessions, onChange }: { world: World; sessions: Session[]; onChange: () => void }) {
  const { t, i18n } = useTranslation();
  const [, navigate] = useLocation();
  const [locale, setLocale] = useState(() => storyLocale(world, i18n.language));
  const [state, setState] = useState<'idle' | 'busy' | { error: string }>('idle');
  const begin = () => {
    setState('busy');
    createSession(world.id, locale).then(
      (session) => {
        navigate(`/sessions/${encodeURIComponent(session.id)}`);
      },
      (error: unknown) => {
        setState({ error: error instanceof Error ? error.message : String(error) });
      },
    );
  };
  return (
    <>
      <div className="world__top">
        <Cover name={world.name} accent={world.accentColor} large />
        <div className="world__words">
          <h1 className="world__name">{world.name}</h1>
          <div className="world__summary">
            <Prose text={world.summary} />
          </div>
          {world.tags.length > 0 && (
            <ul className="spec-tags" aria-label={t('world.tags')}>
              {world.tags.map((tag) => (
                <li key={tag} className="spec-badge tone-neutral">
                  {tag}
                </li>
              ))}
            </ul>
          )}
          {world.locales.length > 1 && (
            <Languages locales={world.locales} value={locale} onChange={setLocale} />
          )}
          <div className="world__begin">
            <button
              type="button"
              className="button button--primary button--large"
              disabled={state === 'busy'}
              onClick={begin}
            >
              {state === 'busy' ? t('world.beginning') : t('world.begin')}
            </button>
            {typeof state === 'object' && (
              <p className="field__error">
                {t('world.failed')} {state.error}
              </p>
            )}
          </div>
        </div>
      </div>
      {sessions.length > 0 && (
        <section className="shelf" aria-labelledby="yours">
          <h2 id="yours" className="shelf__title">
            {t('world.yourStories')}
          </h2>
          <ul className="stories">
            {sessions.map((s) => (
              <Story key={s.id} session={s} world={world} onChange={onChange} />
            ))}
          </ul>
        </section>
      )}
      {world.lore !== '' && (
        <details className="lore">
          <summary className="lore__title">
            {t('world.about')} <span className="lore__hint">{t('world.aboutHint')}</span>
          </summary>
          <div className="lore__text">
            <Prose text={plainLore(world.lore)} />
          </div>
        </details>
      )}
    </>
  );
}

function Languages({
  locales,
  value,
  onChange,
}: {
  locales: string[];
  value: string;
  onChange: (locale: string) => void;
}) {
  const { t } = useTranslation();
  const label = useId();
  return (
    <div className="languages">
      <p id={label} className="field__label">
        {t('world.storyLanguage')}
      </p>
      <RadioGroup.Root
        className="languages__row"
        aria-labelledby={label}
        value={value}
        onValueChange={onChange}
      >
        {locales.map((l) => (
          <RadioGroup.Item key={l} value={l} lang={l} className="languages__option">
            {languageName(l)}
          </RadioGroup.Item>
        ))}
      </RadioGroup.Root>
    </div>
  );
}

/** Lore is written with headings; as prose a heading is a short paragraph of its own. */
function plainLore(lore: string): string {
  return lore.replace(/^#{1,6}[ \t]+(.*)$/gm, '\n**$1**\n');
}
