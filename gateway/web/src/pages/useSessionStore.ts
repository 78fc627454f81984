import { useEffect, useState, useSyncExternalStore } from 'react';
import { sessionExists, socketUrl } from '../protocol/http';
import { SessionStore, type Snapshot } from '../session/store';
import type { Socket } from '../session/connection';

/** The store of one session while its page is open, and what it holds now. */
export function useSessionStore(sessionId: string): { store: SessionStore; snapshot: Snapshot } {
  const [store, setStore] = useState(() => make(sessionId));
  if (store.sessionId !== sessionId) setStore(make(sessionId));

  useEffect(() => {
    // A development build mounts twice: a store that was closed is replaced by a fresh one.
    if (store.isClosed) {
      setStore(make(sessionId));
      return;
    }
    store.start();
    const retry = () => {
      store.retryNow();
    };
    const retryWhenSeen = () => {
      if (document.visibilityState === 'visible') store.retryNow();
    };
    window.addEventListener('online', retry);
    document.addEventListener('visibilitychange', retryWhenSeen);
    return () => {
      window.removeEventListener('online', retry);
      document.removeEventListener('visibilitychange', retryWhenSeen);
      store.close();
    };
  }, [store, sessionId]);

  const snapshot = useSyncExternalStore(store.subscribe, store.getSnapshot);
  return { store, snapshot };
}

function make(sessionId: string): SessionStore {
  return new SessionStore(sessionId, {
    open: () => new WebSocket(socketUrl(sessionId)) as Socket,
    exists: () => sessionExists(sessionId),
    storage: window.sessionStorage,
    // A hidden page draws no frames; its state goes on all the same.
    soon: (redraw) => {
      if (document.visibilityState === 'hidden') setTimeout(redraw, 100);
      else requestAnimationFrame(redraw);
    },
    random: () => Math.random(),
  });
}
