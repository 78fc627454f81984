import { useTranslation } from 'react-i18next';
import type { SessionStatus } from '../protocol/types';

/** In the place of the input, when a story takes no lines. */
export function ClosedBar({
  status,
  onResume,
  onLeave,
}: {
  status: SessionStatus;
  onResume: () => void;
  onLeave: () => void;
}) {
  const { t } = useTranslation();
  const paused = status === 'paused';
  return (
    <div className="closed">
      <div>
        <p className="closed__title">{paused ? t('input.paused') : t('input.ended')}</p>
        {!paused && <p className="closed__hint">{t('input.endedHint')}</p>}
      </div>
      {paused ? (
        <button type="button" className="button button--primary" onClick={onResume}>
          {t('input.resume')}
        </button>
      ) : (
        <button type="button" className="button" onClick={onLeave}>
          {t('app.home')}
        </button>
      )}
    </div>
  );
}
