import { readServerMessage } from '../protocol/guards';
import type { ClientMessage } from '../protocol/types';
import { backoffMs } from './backoff';
import type { Input } from './reducer';
import type { SessionState } from './state';

/** What the connection needs of a WebSocket: the browser's has it, and so has a test's. */
export interface Socket {
  send: (data: string) => void;
  close: () => void;
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: (() => void) | null;
}

/**
 * - `connecting`: the first attempt, nothing shown yet
 * - `live`: greeted by the server
 * - `lost`: trying again; what is on the page stays, what is typed is kept
 * - `gone`: there is no such session
 */
export type Link = 'connecting' | 'live' | 'lost' | 'gone';

export interface Ports {
  open: () => Socket;
  /** Asked after an attempt that never opened: a handshake that is refused tells a browser nothing. */
  exists: () => Promise<boolean>;
  random: () => number;
  state: () => SessionState;
  dispatch: (input: Input) => void;
  onLink: (link: Link, nextAttemptAt: number | undefined) => void;
}

const PING_EVERY_MS = 20_000;
/** Silence after a ping that means the line is dead. */
const PONG_WITHIN_MS = 10_000;
/** After a reset the server sends a view or closes; past this we ask for one ourselves. */
const VIEW_WITHIN_MS = 5_000;
const HELLO_WITHIN_MS = 10_000;

/**
 * Keeps one session's socket: says hello with what the state knows, resumes after drops, and writes every
 * command of the outbox until it is stored. All decisions about the story are the reducer's; this only moves
 * messages, so it has no memory of them.
 */
export class Connection {
  private socket: Socket | undefined;
  private link: Link = 'connecting';
  private greeted = false;
  private opened = false;
  private awaitingView = false;
  private attempt = 0;
  private closed = false;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private pingTimer: ReturnType<typeof setTimeout> | undefined;
  private deadTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly ports: Ports) {}

  start(): void {
    this.connect();
  }

  /** Ends for good: nothing that arrives later is heard. */
  close(): void {
    this.closed = true;
    clearTimeout(this.retryTimer);
    this.drop();
  }

  /** Tries at once instead of waiting: the player asked, or the network came back. */
  retryNow(): void {
    if (this.closed || this.link === 'gone' || this.socket !== undefined) return;
    clearTimeout(this.retryTimer);
    this.connect();
  }

  /** Writes what waits in the outbox. To be called after every change of state. */
  flush(): void {
    for (;;) {
      const { outbox, stale } = this.ports.state();
      const next = stale || !this.greeted ? undefined : outbox.find((o) => o.status === 'unsent');
      if (next === undefined) return;
      this.ports.dispatch({ kind: 'sent', requestId: next.command.requestId });
      this.write(next.command);
    }
  }

  /** Asks the server to cancel the running turn. */
  stop(): void {
    if (this.greeted) this.write({ type: 'stop' });
  }

  private connect(): void {
    this.opened = false;
    this.greeted = false;
    const socket = this.ports.open();
    this.socket = socket;
    socket.onopen = () => {
      if (this.socket !== socket) return;
      this.opened = true;
      this.hello();
      this.expect(HELLO_WITHIN_MS);
    };
    socket.onmessage = (event) => {
      if (this.socket === socket) this.receive(event.data);
    };
    socket.onclose = () => {
      if (this.socket === socket) this.lost();
    };
  }

  private hello(): void {
    const { position, stale } = this.ports.state();
    if (stale || position === undefined) {
      this.write({ type: 'hello' });
      return;
    }
    this.write({
      type: 'hello',
      lastSeq: position.seq,
      lastId: position.lastId,
      incarnation: position.incarnation,
    });
  }

  private receive(data: unknown): void {
    this.heard();
    let message;
    try {
      message = readServerMessage(String(data));
    } catch (error) {
      console.warn('covel: a message from the server could not be read', error);
      this.ports.dispatch({ kind: 'unreadable' });
      this.restart();
      return;
    }
    if (message === undefined) return;
    this.ports.dispatch({ kind: 'server', message });

    if (message.type === 'system.reset') {
      this.awaitingView = true;
      this.expect(VIEW_WITHIN_MS);
      return;
    }
    if (this.ports.state().stale) {
      // The state no longer trusts what it has. Unless the server is about to send a view, ask for one.
      const mayAsk = this.greeted || message.type === 'welcome';
      if (mayAsk && !this.awaitingView) this.restart();
      return;
    }
    if (message.type === 'welcome') {
      this.greeted = true;
      this.awaitingView = false;
      this.attempt = 0;
      this.heard();
      this.setLink('live', undefined);
    }
    if (message.type === 'error' && message.code === 'server_shutting_down') {
      this.restart();
      return;
    }
    this.flush();
  }

  /** Something came: the line is alive. The wait for a view after a reset goes on, though. */
  private heard(): void {
    if (this.awaitingView) return;
    clearTimeout(this.deadTimer);
    this.deadTimer = undefined;
    clearTimeout(this.pingTimer);
    this.pingTimer = setTimeout(() => {
      this.write({ type: 'ping' });
      this.expect(PONG_WITHIN_MS);
    }, PING_EVERY_MS);
  }

  private expect(withinMs: number): void {
    clearTimeout(this.deadTimer);
    this.deadTimer = setTimeout(() => {
      this.restart();
    }, withinMs);
  }

  private restart(): void {
    this.drop();
    this.lost();
  }

  private drop(): void {
    clearTimeout(this.pingTimer);
    clearTimeout(this.deadTimer);
    this.deadTimer = undefined;
    const socket = this.socket;
    this.socket = undefined;
    this.greeted = false;
    this.awaitingView = false;
    if (socket === undefined) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  private lost(): void {
    const opened = this.opened;
    this.drop();
    if (this.closed) return;
    this.ports.dispatch({ kind: 'disconnected' });
    const wait = backoffMs(this.attempt, () => this.ports.random());
    this.attempt++;
    this.setLink('lost', wait);
    if (!opened) void this.checkExists();
    this.retryTimer = setTimeout(() => {
      this.connect();
    }, wait);
  }

  private async checkExists(): Promise<void> {
    const exists = await this.ports.exists().catch(() => true);
    if (exists || this.closed || this.link === 'live') return;
    clearTimeout(this.retryTimer);
    this.drop();
    this.setLink('gone', undefined);
  }

  private setLink(link: Link, wait: number | undefined): void {
    this.link = link;
    this.ports.onLink(link, wait);
  }

  private write(message: ClientMessage): void {
    this.socket?.send(JSON.stringify(message));
  }
}
