import { useEffect } from 'react';

/** The window's title while a page is open. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    document.title = title === undefined || title === '' ? 'Covel' : `${title} · Covel`;
    return () => {
      document.title = 'Covel';
    };
  }, [title]);
}
