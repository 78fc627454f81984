import ChevronLeft from 'lucide-react/icons/chevron-left';
import ChevronRight from 'lucide-react/icons/chevron-right';
import Redo2 from 'lucide-react/icons/redo-2';
import RefreshCw from 'lucide-react/icons/refresh-cw';
import Undo2 from 'lucide-react/icons/undo-2';
import { useTranslation } from 'react-i18next';
import type { Tree } from '../protocol/types';
import { ways } from '../session/tree';

/**
 * Below the newest page: take it back, have it told anew, turn between its takes. Nothing is lost by any of it, so
 * nothing asks for confirmation.
 */
export function WayBack({
  tree,
  onBack,
  onAnew,
  onGo,
}: {
  tree: Tree;
  onBack: () => void;
  onAnew: () => void;
  onGo: (turnId: string) => void;
}) {
  const { t } = useTranslation();
  const { newest, take, former, later, forward } = ways(tree);
  if (newest === undefined && forward === undefined) return null;
  const count = newest?.takes.length ?? 0;
  const go = (to: string | undefined) => () => {
    if (to !== undefined) onGo(to);
  };
  return (
    <div className="way-back" role="toolbar" aria-label={t('wayBack.label')}>
      {count > 1 && (
        <span className="way-back__takes">
          <button
            type="button"
            className="icon-button"
            aria-label={t('wayBack.former')}
            disabled={former === undefined}
            onClick={go(former)}
          >
            <ChevronLeft size={16} aria-hidden />
          </button>
          <span>{t('wayBack.take', { take, count })}</span>
          <button
            type="button"
            className="icon-button"
            aria-label={t('wayBack.later')}
            disabled={later === undefined}
            onClick={go(later)}
          >
            <ChevronRight size={16} aria-hidden />
          </button>
        </span>
      )}
      {newest !== undefined && (
        <>
          <button type="button" className="link-button" onClick={onAnew}>
            <RefreshCw size={13} aria-hidden /> {t('wayBack.anew')}
          </button>
          <button type="button" className="link-button" onClick={onBack}>
            <Undo2 size={13} aria-hidden /> {t('wayBack.back')}
          </button>
        </>
      )}
      {forward !== undefined && (
        <button type="button" className="link-button" onClick={go(forward)}>
          <Redo2 size={13} aria-hidden /> {t('wayBack.forward')}
        </button>
      )}
    </div>
  );
}
