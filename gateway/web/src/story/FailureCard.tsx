import RotateCcw from 'lucide-react/icons/rotate-ccw';
import { useTranslation } from 'react-i18next';
import type { Execution } from '../protocol/types';
import { STOPPED } from '../session/apply';
import { Prose } from './Prose';

/** A turn that did not commit: what failed, what is safe, what is kept, and the way on. */
export function FailureCard({
  execution,
  onRetry,
  onEdit,
}: {
  execution: Execution;
  onRetry: () => void;
  onEdit: (text: string) => void;
}) {
  const { t } = useTranslation();
  const { input, draft, error, abortReason } = execution;
  const title =
    abortReason === STOPPED
      ? t('failure.interrupted')
      : execution.state === 'interrupted'
        ? t('failure.interruptedByCrash')
        : t('failure.failed');
  return (
    <section className="failure" aria-label={title} data-line={title}>
      <p className="failure__title">{title}</p>
      <p className="failure__safe">{t('failure.safe')}</p>
      {error !== undefined && <p className="failure__error">{error}</p>}
      {input !== undefined && input.text !== '' && (
        <div className="failure__line">
          <p className="failure__label">{t('failure.lineKept')}</p>
          <blockquote>
            <Prose text={input.text} />
          </blockquote>
        </div>
      )}
      {draft !== undefined && draft.text.trim() !== '' && (
        <details className="failure__draft">
          <summary>{t('failure.draft')}</summary>
          <Prose text={draft.text} />
        </details>
      )}
      <div className="failure__actions">
        {execution.retry !== undefined && (
          <button type="button" className="button button--primary" onClick={onRetry}>
            <RotateCcw size={14} aria-hidden /> {t('failure.retry')}
          </button>
        )}
        {input !== undefined && input.text !== '' && (
          <button
            type="button"
            className="button"
            onClick={() => {
              onEdit(input.text);
            }}
          >
            {t('failure.edit')}
          </button>
        )}
      </div>
    </section>
  );
}
