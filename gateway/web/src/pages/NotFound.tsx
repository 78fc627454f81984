import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { Main } from '../ui/Main';
import { SiteHeader } from './SiteHeader';

export function NotFound({ title, hint }: { title: string; hint?: string }) {
  const { t } = useTranslation();
  return (
    <div className="site">
      <SiteHeader />
      <Main className="empty-page">
        <h1>{title}</h1>
        {hint !== undefined && <p>{hint}</p>}
        <Link href="/" className="button">
          {t('app.home')}
        </Link>
      </Main>
    </div>
  );
}
