import Square from 'lucide-react/icons/square';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Work } from '../session/state';
import { clock, viewWork } from './workText';

/**
 * The thin line above the input while a turn runs: who is at work, for how long, and Stop. Its place is always
 * there, so that nothing moves when a turn begins or ends. It is no live region: it changes too often to be read.
 */
export function StageLine({
  work,
  startedAt,
  stoppable,
  onStop,
}: {
  work: Work | undefined;
  startedAt: string | undefined;
  stoppable: boolean;
  onStop: () => void;
}) {
  const { t } = useTranslation();
  const [stopping, setStopping] = useState<string | undefined>(undefined);
  const view = viewWork(work);
  const words = view.settling
    ? t('turn.settling')
    : view.stage === undefined
      ? t('turn.thinking')
      : t(`turn.stage.${view.stage}`);
  const names = view.labels.filter((l) => l !== words);
  const waitMs = work?.waitMs;
  const key = work?.executionId ?? '';
  return (
    <section className="stage-line" aria-label={t('turn.progress')}>
      <div className="stage-line__track" aria-hidden>
        {view.line.map((part) => (
          <span key={part.stage} className={`stage-line__part is-${part.state}`} />
        ))}
      </div>
      <p className="stage-line__words">
        <span className="stage-line__now">{words}</span>
        {waitMs !== undefined && <AskedAgain key={work?.n} waitMs={waitMs} />}
        {names.length > 0 && <span className="stage-line__names"> · {names.join(' · ')}</span>}
        {view.failed.map((label) => (
          <span key={label} className="stage-line__failed">
            {' '}
            · {t('turn.stepFailed', { label })}
          </span>
        ))}
      </p>
      <Elapsed startedAt={startedAt} />
      {stoppable && (
        <button
          type="button"
          className="stage-line__stop"
          disabled={stopping === key && key !== ''}
          onClick={() => {
            setStopping(key);
            onStop();
          }}
        >
          <Square size={10} fill="currentColor" aria-hidden />
          {stopping === key && key !== '' ? t('turn.stopping') : t('turn.stop')}
        </button>
      )}
    </section>
  );
}

/** Counts down to the model's next attempt. */
function AskedAgain({ waitMs }: { waitMs: number }) {
  const { t } = useTranslation();
  const now = useNow();
  const [until] = useState(() => Date.now() + waitMs);
  return (
    <span className="stage-line__failed">
      {' '}
      · {t('turn.askedAgain', { count: Math.max(0, Math.ceil((until - now) / 1000)) })}
    </span>
  );
}

/** The time, every second anew. */
function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(Date.now());
    }, 1000);
    return () => {
      clearInterval(timer);
    };
  }, []);
  return now;
}

/** Counts from when the server began; a clock that runs ahead of ours counts from now. */
function Elapsed({ startedAt }: { startedAt: string | undefined }) {
  const [mounted] = useState(() => Date.now());
  const now = Math.max(mounted, useNow());
  const told = startedAt === undefined ? NaN : Date.parse(startedAt);
  const since = Number.isNaN(told) || told > mounted ? mounted : told;
  return <span className="stage-line__time">{clock(now - since)}</span>;
}
