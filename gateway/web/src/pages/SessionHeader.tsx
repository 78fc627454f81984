import { DropdownMenu as Menu } from 'radix-ui';
import BookOpen from 'lucide-react/icons/book-open';
import PanelRight from 'lucide-react/icons/panel-right';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { SessionStatus } from '../protocol/types';
import type { Book } from '../session/state';
import { Confirm } from '../ui/Dialog';
import { SettingsMenu } from './SettingsMenu';

/** The running head of a book: the way out, the title, what is around. */
export function SessionHeader({
  book,
  panelsOpen,
  onPanels,
  onStatus,
}: {
  book?: Book;
  panelsOpen: boolean;
  onPanels?: () => void;
  onStatus?: (status: SessionStatus) => void;
}) {
  const { t } = useTranslation();
  const [ending, setEnding] = useState(false);
  const status = book?.session.status;
  const title = book === undefined ? '' : book.session.title === '' ? book.world.name : book.session.title;
  return (
    <header className="session-head">
      <Link href="/" className="icon-button" aria-label={t('app.home')}>
        <BookOpen size={20} aria-hidden />
      </Link>
      <h1 className="session-head__title" title={title}>
        {title}
      </h1>
      <div className="session-head__tools">
        {onPanels !== undefined && (
          <button
            type="button"
            className="icon-button"
            aria-pressed={panelsOpen}
            aria-label={panelsOpen ? t('panels.close') : t('panels.open')}
            onClick={onPanels}
          >
            <PanelRight size={18} aria-hidden />
          </button>
        )}
        <SettingsMenu>
          {status === 'active' && onStatus !== undefined && (
            <>
              <Menu.Separator className="menu__rule" />
              <Menu.Item
                className="menu__item"
                onSelect={() => {
                  onStatus('paused');
                }}
              >
                {t('input.pause')}
              </Menu.Item>
              <Menu.Item
                className="menu__item"
                onSelect={() => {
                  setEnding(true);
                }}
              >
                {t('input.end')}
              </Menu.Item>
            </>
          )}
        </SettingsMenu>
      </div>
      <Confirm
        open={ending}
        onClose={() => {
          setEnding(false);
        }}
        title={t('input.endTitle')}
        text={t('input.endText')}
        action={t('input.endConfirm')}
        danger
        onConfirm={() => onStatus?.('ended')}
      />
    </header>
  );
}
