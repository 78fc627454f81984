import { createContext, useCallback, useContext, useMemo, useState, type ReactNode } from 'react';

/**
 * The one live region of the page. Finished paragraphs, and what happens to the connection, are put here and read
 * once; nothing else on the page speaks by itself.
 */
const Announce = createContext<(text: string) => void>(() => undefined);

/** Enough for a slow reader to catch up; older entries would only be noise in the tree. */
const KEPT = 12;

export function Announcer({ children }: { children: ReactNode }) {
  const [entries, setEntries] = useState<{ id: number; text: string }[]>([]);
  const say = useCallback((text: string) => {
    setEntries((all) => [...all.slice(1 - KEPT), { id: (all.at(-1)?.id ?? 0) + 1, text }]);
  }, []);
  const region = useMemo(
    () => (
      <div className="visually-hidden" role="log" aria-live="polite" aria-relevant="additions" data-announcer>
        {entries.map((e) => (
          <p key={e.id}>{e.text}</p>
        ))}
      </div>
    ),
    [entries],
  );
  return (
    <Announce value={say}>
      {children}
      {region}
    </Announce>
  );
}

export function useAnnounce(): (text: string) => void {
  return useContext(Announce);
}
