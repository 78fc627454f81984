import { lazy, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { Route, Switch } from 'wouter';
import Home from './pages/Home';
import { NotFound } from './pages/NotFound';
import { Announcer } from './ui/Announcer';
import { Boundary } from './ui/Boundary';

const WorldPage = lazy(() => import('./pages/WorldPage'));
const SessionPage = lazy(() => import('./pages/SessionPage'));

export function App() {
  return (
    <Boundary fallback={<Broken />}>
      <Announcer>
        <Suspense fallback={<Waiting />}>
          <Switch>
            <Route path="/">
              <Home />
            </Route>
            <Route path="/worlds/:id">{({ id }) => <WorldPage key={id} id={id} />}</Route>
            <Route path="/sessions/:id">{({ id }) => <SessionPage key={id} id={id} />}</Route>
            <Route>
              <Missing />
            </Route>
          </Switch>
        </Suspense>
      </Announcer>
    </Boundary>
  );
}

function Waiting() {
  const { t } = useTranslation();
  return (
    <main id="main" className="opening">
      <p>{t('app.loading')}</p>
    </main>
  );
}

function Missing() {
  const { t } = useTranslation();
  return <NotFound title={t('story.notFound')} />;
}

/** The last resort: the story is on the server, a reload brings it back. */
function Broken() {
  const { t } = useTranslation();
  return (
    <main id="main" className="empty-page">
      <h1>{t('panels.brokenPart')}</h1>
      <button
        type="button"
        className="button button--primary"
        onClick={() => {
          window.location.reload();
        }}
      >
        {t('app.tryAgain')}
      </button>
    </main>
  );
}
