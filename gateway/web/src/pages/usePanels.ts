import { useEffect, useState } from 'react';
import { getUISpecs } from '../protocol/http';
import { readPanel, type Panel } from '../spec/panel';

export interface PanelSet {
  right: Panel[];
  message: Panel[];
}

const none: PanelSet = { right: [], message: [] };

/** The panels of a session's plugins; asked for again when the plugins change. Without them the story goes on. */
export function usePanels(
  sessionId: string,
  plugins: string[] | undefined,
  locale: string | undefined,
): PanelSet {
  const [panels, setPanels] = useState<PanelSet>(none);
  const key = plugins === undefined ? undefined : `${locale ?? ''} ${plugins.join(' ')}`;
  useEffect(() => {
    if (key === undefined) return;
    const abort = new AbortController();
    getUISpecs(sessionId, abort.signal).then(
      (specs) => {
        setPanels({
          right: specs.right.map((s) => readPanel(s.pluginId, s.spec)),
          message: specs.message.map((s) => readPanel(s.pluginId, s.spec)),
        });
      },
      (error: unknown) => {
        if (!abort.signal.aborted) console.warn('covel: the panels could not be loaded', error);
      },
    );
    return () => {
      abort.abort();
    };
  }, [sessionId, key]);
  return panels;
}
