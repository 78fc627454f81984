import BookOpen from 'lucide-react/icons/book-open';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { SettingsMenu } from './SettingsMenu';

/** The head of the pages outside a story. */
export function SiteHeader() {
  const { t } = useTranslation();
  return (
    <header className="site-head">
      <a className="skip-link" href="#main">
        {t('app.skipToMain')}
      </a>
      <Link href="/" className="wordmark">
        <BookOpen size={20} aria-hidden />
        <span>{t('app.name')}</span>
      </Link>
      <SettingsMenu />
    </header>
  );
}
