import { createStateStore, type Spec, type StateStore } from '@json-render/core';
import { JSONUIProvider, Renderer, type ComponentRegistry } from '@json-render/react';
import { useEffect, useMemo, useRef } from 'react';
import type { ComponentName } from './catalogue';
import { controls } from './components/controls';
import { questions } from './components/form';
import { plain } from './components/plain';
import { directives } from './directives';
import { useHost } from './host';

const registry: Record<ComponentName, ComponentRegistry[string]> = { ...plain, ...controls, ...questions };

/**
 * Draws a checked specification over a state store. The actions are those of the page; `onAnswer` is for the
 * questions of the story alone, so that a panel cannot answer one.
 */
export function SpecView({
  spec,
  store,
  onAnswer,
}: {
  spec: Spec;
  store: StateStore;
  onAnswer?: (params: Record<string, unknown>) => void;
}) {
  const host = useHost();
  const latest = useRef({ host, onAnswer });
  useEffect(() => {
    latest.current = { host, onAnswer };
  });
  // json-render keeps the first handlers it is given: these never change and look up the latest page.
  const handlers = useMemo(() => {
    const words = (params: Record<string, unknown>) => {
      const text = params['text'] ?? params['message'] ?? params['content'];
      return typeof text === 'string' ? text : '';
    };
    return {
      draftMessage: (params: Record<string, unknown>) => {
        latest.current.host.draftMessage(words(params));
      },
      sendMessage: (params: Record<string, unknown>) => {
        latest.current.host.sendMessage(words(params));
      },
      answer: (params: Record<string, unknown>) => {
        latest.current.onAnswer?.(params);
      },
    };
  }, []);
  return (
    <JSONUIProvider registry={registry} store={store} handlers={handlers} directives={directives}>
      <Renderer spec={spec} registry={registry} />
    </JSONUIProvider>
  );
}

/** A state store that follows `data`: changed members are written, gone ones removed; what the panel keeps for itself stays. */
export function useFollowingStore(data: Record<string, unknown>): StateStore {
  const store = useMemo(() => createStateStore({ ...data }), []); // eslint-disable-line react-hooks/exhaustive-deps
  const before = useRef(data);
  useEffect(() => {
    if (before.current === data) return;
    const changes: Record<string, unknown> = {};
    for (const key of new Set([...Object.keys(before.current), ...Object.keys(data)])) {
      if (before.current[key] !== data[key]) changes[pointer(key)] = data[key];
    }
    before.current = data;
    if (Object.keys(changes).length > 0) store.update(changes);
  }, [data, store]);
  return store;
}

/** A key as a JSON Pointer: the two characters with a meaning are escaped. */
function pointer(key: string): string {
  return `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
