import type {
  Action,
  ClientMessage,
  CommittedEvent,
  Execution,
  Frame,
  Message,
  Running,
  ServerMessage,
  TransientEvent,
  View,
} from '../../src/protocol/types';
import type { Socket } from '../../src/session/connection';
import * as b from './build';

/**
 * A server small enough to be obviously right, for properties of the client: it keeps a log of frames, runs one
 * request after the other, remembers request ids, and answers `hello` as docs/protocol.md says.
 * Nothing happens by itself: every message in either direction waits until the test moves it.
 */
export class ModelServer {
  log: Frame[] = [];
  incarnation = b.INCARNATION;
  private queue: { requestId: string; text: string }[] = [];
  private seen = new Map<string, { body: string; version: number | undefined }>();
  private messages: Message[] = [];
  private execution: Execution = { state: 'idle' };
  private running: Running | undefined;
  private turn = 0;
  sockets: ModelSocket[] = [];

  constructor(private readonly namesHead = false) {}

  get seq(): number {
    return this.log.at(-1)?.seq ?? 0;
  }

  get idle(): boolean {
    return this.queue.length === 0 && this.running === undefined;
  }

  view(): View {
    const view = b.view({
      seq: this.seq,
      lastId: `e${String(this.seq)}`,
      incarnation: this.incarnation,
      session: b.session({ incarnation: this.incarnation }),
      messages: this.messages,
      execution: this.execution,
    });
    if (this.running) view.running = { ...this.running };
    return view;
  }

  open(): ModelSocket {
    const socket = new ModelSocket(this);
    this.sockets.push(socket);
    return socket;
  }

  receive(socket: ModelSocket, message: ClientMessage): void {
    switch (message.type) {
      case 'ping':
        socket.push({ type: 'pong' });
        return;
      case 'stop':
        return;
      case 'hello': {
        const at = message.lastSeq;
        const known =
          at !== undefined &&
          message.incarnation === this.incarnation &&
          (at === 0 || this.log.some((f) => f.seq === at && f.lastId === message.lastId));
        const head = { seq: this.seq, lastId: `e${String(this.seq)}`, incarnation: this.incarnation };
        const running = this.running && { running: { ...this.running } };
        if (known) {
          // Where the client stands, or where the frames lead: the protocol leaves both open.
          const place = this.namesHead ? head : { ...head, seq: at, lastId: message.lastId ?? '' };
          socket.push({ type: 'welcome', ...place, resumed: true, ...running });
          for (const f of this.log) if (f.seq > at) socket.push(f);
        } else {
          socket.push({ type: 'welcome', ...head, resumed: false, view: this.view() });
        }
        socket.greeted = true;
        return;
      }
      default: {
        const body = JSON.stringify({ type: message.type, payload: message.payload, base: message.base });
        const before = this.seen.get(message.requestId);
        if (before !== undefined) {
          if (before.body !== body) {
            socket.push(b.refusal(message.requestId, 'request_id_conflict'));
          } else if (before.version !== undefined) {
            const { version } = before;
            socket.push({
              type: 'ack',
              requestId: message.requestId,
              status: 'accepted',
              version,
              repeat: true,
            });
          } else {
            socket.push({
              type: 'ack',
              requestId: message.requestId,
              status: 'queued',
              n: this.queue.length,
            });
          }
          return;
        }
        if (message.base !== undefined && message.base < this.seq) {
          const frames = this.log.filter((f) => f.seq > (message.base ?? 0));
          socket.push({ ...b.refusal(message.requestId, 'conflict'), frames });
          return;
        }
        const text = (message.payload as { actions: Action[] }).actions[0]?.text ?? '';
        this.seen.set(message.requestId, { body, version: undefined });
        this.queue.push({ requestId: message.requestId, text });
        socket.push({ type: 'ack', requestId: message.requestId, status: 'queued', n: this.queue.length });
      }
    }
  }

  /** A second client's line. */
  foreign(text: string): void {
    this.queue.push({ requestId: `foreign-${String(this.seq)}-${String(this.queue.length)}`, text });
  }

  /** Does the next thing of the running turn, or begins the next one. */
  step(ok: boolean): void {
    if (this.running === undefined) this.begin();
    else if (this.running.n < 3) this.write(`w${String(this.running.n)} `);
    else this.end(ok);
  }

  private begin(): void {
    const next = this.queue.shift();
    if (next === undefined) return;
    this.turn++;
    const executionId = `x${String(this.turn)}`;
    const line = b.playerLine(`p${String(this.turn)}`, this.seq + 1, next.text, { turnId: executionId });
    this.running = {
      executionId,
      n: 0,
      requestId: next.requestId,
      text: '',
      textRuntimeId: 'narrator',
      steps: [],
    };
    this.pendingLine = line;
    const events = [b.accepted(next.requestId, line), b.started(next.requestId, executionId)].map((e) => ({
      ...e,
      turnId: executionId,
    })) as CommittedEvent[];
    this.execution = {
      state: 'running',
      requestId: next.requestId,
      turnId: executionId,
      startedAt: '2026-01-01T00:00:00Z',
      origin: 'player',
      input: { text: next.text, message: line },
    };
    this.append(2, events);
    const entry = this.seen.get(next.requestId);
    if (entry !== undefined) entry.version = this.seq;
    this.everyone({
      type: 'ack',
      requestId: next.requestId,
      status: 'accepted',
      version: this.seq,
      executionId,
    });
  }

  private pendingLine: Message | undefined;

  private write(text: string): void {
    const r = this.running as Running;
    r.n++;
    r.text += text;
    const event: TransientEvent = {
      type: 'narrative.delta',
      payload: { runtimeId: 'narrator', pluginId: 'narrator', delta: text },
    };
    this.everyone({ type: 'transient', executionId: r.executionId, n: r.n, event });
  }

  private end(ok: boolean): void {
    const r = this.running as Running;
    const requestId = r.requestId as string;
    const line = this.pendingLine as Message;
    this.running = undefined;
    this.pendingLine = undefined;
    if (ok) {
      const story = b.message(`m${String(this.turn)}`, this.seq + 1, {
        turnId: r.executionId,
        text: r.text.trim(),
        runtimeId: 'narrator',
      });
      this.messages = [...this.messages, line, story];
      this.execution = { state: 'completed', requestId };
      this.append(3, [
        b.narrated(requestId, story),
        b.turnCompleted(requestId, r.executionId),
        b.completed(requestId),
      ]);
    } else {
      this.execution = { state: 'failed', requestId, error: 'no', input: { text: line.text } };
      this.append(1, [
        b.turnCompleted(requestId, r.executionId, false),
        b.completed(requestId, false, { error: 'no' }),
      ]);
    }
  }

  /** An append that shows a viewer nothing. */
  appendEmpty(): void {
    if (this.running === undefined) this.append(1, []);
  }

  private append(size: number, events: CommittedEvent[]): void {
    const f = b.frame(this.seq + size, ...events);
    this.log.push(f);
    this.everyone(f);
  }

  /** An older backup is restored: everything after `keep` frames is gone, under a new incarnation. */
  restore(life: string): void {
    this.incarnation = life;
    for (const s of [...this.sockets]) s.drop();
  }

  private everyone(message: ServerMessage): void {
    for (const s of this.sockets) if (s.greeted) s.push(message);
  }

  lines(): string[] {
    return this.log.flatMap((f) =>
      f.events.flatMap((e) =>
        e.type === 'actions.accepted' && e.payload.message ? [e.payload.message.text] : [],
      ),
    );
  }
}

/** One client's line to the model: two queues that the test empties. */
export class ModelSocket implements Socket {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: (() => void) | null = null;
  greeted = false;
  private opened = false;
  private up: ClientMessage[] = [];
  private down: ServerMessage[] = [];

  constructor(private readonly server: ModelServer) {}

  send(data: string): void {
    this.up.push(JSON.parse(data) as ClientMessage);
  }

  push(message: ServerMessage): void {
    this.down.push(message);
  }

  close(): void {
    this.server.sockets = this.server.sockets.filter((s) => s !== this);
  }

  /** Opens, or moves one message to the server. */
  moveUp(): boolean {
    if (!this.opened) {
      this.opened = true;
      this.onopen?.();
      return true;
    }
    const message = this.up.shift();
    if (message === undefined) return false;
    this.server.receive(this, message);
    return true;
  }

  /** Moves one message to the client, `times` times over. */
  moveDown(times = 1): boolean {
    const message = this.down.shift();
    if (message === undefined) return false;
    for (let i = 0; i < times; i++) this.onmessage?.({ data: JSON.stringify(message) });
    return true;
  }

  /** The line breaks: what was on its way in either direction is lost. */
  drop(): void {
    const onclose = this.onclose;
    this.close();
    onclose?.();
  }
}
