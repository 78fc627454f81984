import { useTranslation } from 'react-i18next';
import type { Gathering, Seat } from '../protocol/types';

/** Who is waited for before the turn begins; whoever leads the game need not wait. */
export function GatheringBar({
  gathering,
  seats,
  onBegin,
}: {
  gathering: Gathering;
  seats: Seat[];
  onBegin: () => void;
}) {
  const { t, i18n } = useTranslation();
  const names = gathering.waitingFor.map((id) => seats.find((s) => s.id === id)?.name ?? id);
  const list = new Intl.ListFormat(i18n.language, { type: 'conjunction' }).format(names);
  return (
    <div className="bar" role="status">
      <p>
        {names.length === 0
          ? t('gathering.said', { count: gathering.submissions.length })
          : t('gathering.waits', { names: list })}
      </p>
      <button type="button" className="link-button" onClick={onBegin}>
        {t('gathering.begin')}
      </button>
    </div>
  );
}

/** A plugin that failed again and again does not run until someone says so. */
export function PausedPluginBar({ pluginId, onResume }: { pluginId: string; onResume: () => void }) {
  const { t } = useTranslation();
  return (
    <div className="bar bar--fault" role="status">
      <p>{t('plugin.paused', { plugin: pluginId })}</p>
      <button type="button" className="link-button" onClick={onResume}>
        {t('plugin.resume')}
      </button>
    </div>
  );
}
