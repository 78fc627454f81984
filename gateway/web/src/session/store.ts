import type { CommandType } from '../protocol/types';
import { Connection, type Link, type Ports, type Socket } from './connection';
import { loadKept, saveKept } from './keep';
import { reduce, type Input } from './reducer';
import { newRequestId } from './requestId';
import { emptyState, type SessionState } from './state';

/** What one session's page draws: the state, and how the line to the server is. */
export interface Snapshot {
  state: SessionState;
  link: Link;
}

export interface StorePorts {
  open: () => Socket;
  exists: () => Promise<boolean>;
  storage: Storage;
  /** Runs a redraw soon: the browser's next frame. */
  soon: (redraw: () => void) => void;
  random: () => number;
}

/**
 * One session in one tab: state, connection and what outlives a reload. Nothing is shared between stores, so
 * nothing of one session can reach the page of another.
 *
 * State changes at once; listeners hear of it at most once per frame, however many deltas arrive.
 */
export class SessionStore {
  private snapshot: Snapshot;
  private readonly listeners = new Set<() => void>();
  private readonly connection: Connection;
  private redrawWaits = false;
  private closed = false;

  constructor(
    readonly sessionId: string,
    private readonly ports: StorePorts,
  ) {
    this.snapshot = { state: emptyState(loadKept(ports.storage, sessionId)), link: 'connecting' };
    const connectionPorts: Ports = {
      open: () => ports.open(),
      exists: () => ports.exists(),
      random: () => ports.random(),
      state: () => this.snapshot.state,
      dispatch: (input) => {
        this.dispatch(input);
      },
      onLink: (link) => {
        this.set({ ...this.snapshot, link });
      },
    };
    this.connection = new Connection(connectionPorts);
  }

  get isClosed(): boolean {
    return this.closed;
  }

  start(): void {
    this.connection.start();
  }

  close(): void {
    this.closed = true;
    this.connection.close();
    this.listeners.clear();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly getSnapshot = (): Snapshot => this.snapshot;

  dispatch(input: Input): void {
    if (this.closed) return;
    const before = this.snapshot.state;
    const state = reduce(before, input);
    if (state === before) return;
    this.set({ ...this.snapshot, state });
    // A text field whose value comes a frame late would lose its caret.
    if (input.kind === 'draft') this.redraw();
    if (state.draft !== before.draft || state.outbox !== before.outbox) {
      saveKept(this.ports.storage, this.sessionId, state);
    }
    if (state.outbox !== before.outbox) this.connection.flush();
  }

  send(type: CommandType, payload: unknown, requestId = newRequestId()): void {
    this.dispatch({ kind: 'submit', type, requestId, payload });
  }

  stopTurn(): void {
    this.connection.stop();
  }

  retryNow(): void {
    this.connection.retryNow();
  }

  private set(snapshot: Snapshot): void {
    this.snapshot = snapshot;
    if (this.redrawWaits) return;
    this.redrawWaits = true;
    this.ports.soon(() => {
      this.redrawWaits = false;
      this.redraw();
    });
  }

  private redraw(): void {
    for (const listener of this.listeners) listener();
  }
}
