import { useSyncExternalStore } from 'react';

const query = '(max-width: 899px)';

/** True where there is no room for anything beside the story. */
export function useNarrow(): boolean {
  return useSyncExternalStore(
    (changed) => {
      const media = window.matchMedia(query);
      media.addEventListener('change', changed);
      return () => {
        media.removeEventListener('change', changed);
      };
    },
    () => window.matchMedia(query).matches,
  );
}
