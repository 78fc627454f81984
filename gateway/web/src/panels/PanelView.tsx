import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { EmptyContext } from '../spec/host';
import { panelState, type Panel } from '../spec/panel';
import { SpecView, useFollowingStore } from '../spec/SpecView';
import { Boundary } from '../ui/Boundary';

/** One panel of a plugin over its own data. A fault in it is its own. */
export function PanelView({ panel, data }: { panel: Panel; data: Record<string, unknown> | undefined }) {
  const { t } = useTranslation();
  if (panel.spec === undefined) return <p className="panel__fault">{t('panels.invalid')}</p>;
  const filled = data !== undefined && Object.keys(data).length > 0;
  if (!filled && !panel.alwaysRender) {
    return <p className="panel__empty">{panel.emptyMessage ?? t('panels.empty')}</p>;
  }
  return (
    <Boundary fallback={<p className="panel__fault">{t('panels.broken')}</p>} resetKey={data}>
      <EmptyContext value={panel.emptyMessage}>
        <Drawn panel={panel} data={data} />
      </EmptyContext>
    </Boundary>
  );
}

function Drawn({ panel, data }: { panel: Panel; data: Record<string, unknown> | undefined }) {
  const state = useMemo(() => panelState(data), [data]);
  const store = useFollowingStore(state);
  return panel.spec === undefined ? null : <SpecView spec={panel.spec} store={store} />;
}
