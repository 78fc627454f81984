import { createHash } from 'node:crypto';
import type { WebSocket } from 'ws';
import type {
  Action,
  Character,
  ClientMessage,
  Command,
  CommittedEvent,
  Execution,
  Frame,
  Interaction,
  Message,
  Running,
  ServerMessage,
  Session,
  Suspension,
  TransientEvent,
  View,
} from '../../src/protocol/types';
import { chinese, english, worlds, type Telling } from './texts';

/** What a session needs of the server it is on: how fast it tells, and what goes wrong. */
export interface Pacing {
  pace: number;
  next: 'fine' | 'fail' | 'choice';
  holdAfter: number | undefined;
  offline: boolean;
  waitForRelease: () => Promise<void>;
  release: () => void;
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** One session: a log of frames, one turn at a time, and its sockets. */
export class MockSession {
  log: Frame[] = [];
  messages: Message[] = [];
  session: Session;
  characters: Character[] = [];
  pluginData: View['pluginData'] = {};
  suspensions: Suspension[] = [];
  private execution: Execution = { state: 'idle' };
  private running: Running | undefined;
  private readonly sockets = new Set<WebSocket>();
  private readonly seen = new Map<string, { body: string; ack: ServerMessage | undefined }>();
  private readonly queue: { command: Command; socket: WebSocket }[] = [];
  private readonly interjections: { command: Command; socket: WebSocket }[] = [];
  private busy = false;
  private stopped = false;
  private passage = 0;
  private turn = 0;
  private tail = 0;
  readonly telling: Telling;
  /** Every command that arrived, for assertions. */
  readonly received: Command[] = [];

  constructor(
    private readonly server: Pacing,
    readonly id: string,
    readonly worldId: string,
    locale: string,
  ) {
    this.telling = locale.startsWith('zh') ? chinese : english;
    const world = worldSummary(worldId, locale);
    this.session = {
      id,
      worldId,
      worldName: world.name,
      incarnation: `${id}-1`,
      status: 'active',
      phase: 'setup',
      completedPlayerTurns: 0,
      setupRuntimes: {},
      locale,
      activePlugins: ['pregame', 'world-init', 'char-creator', 'narrator', 'guide', 'codex'],
      createdAt: new Date().toISOString(),
      updatedAt: new Date().toISOString(),
      title: world.name,
    };
  }

  get seq(): number {
    return this.tail;
  }

  connect(ws: WebSocket): void {
    ws.on('message', (data) => {
      this.receive(ws, JSON.parse(String(data)) as ClientMessage);
    });
    ws.on('close', () => this.sockets.delete(ws));
  }

  drop(): void {
    for (const ws of this.sockets) ws.terminate();
    this.sockets.clear();
  }

  view(): View {
    const newest = this.messages.slice(-80);
    const view: View = {
      seq: this.seq,
      lastId: `e${String(this.seq)}`,
      incarnation: this.session.incarnation,
      session: this.session,
      world: worldSummary(this.worldId, this.session.locale),
      messages: newest,
      messagesCursor: this.messages.length > newest.length ? (newest[0]?.id ?? null) : null,
      characters: this.characters,
      characterSchema: {
        attributes: [
          { id: 'calling', name: this.telling.fields.calling },
          { id: 'reason', name: this.telling.fields.reason },
        ],
      },
      seats: [],
      tree: { head: '', turns: [] },
      suspensions: this.suspensions,
      pausedPlugins: [],
      pluginData: this.pluginData,
      execution: this.execution,
      offline: this.server.offline,
    };
    if (this.running) view.running = structuredClone(this.running);
    return view;
  }

  page(before: string | null, limit: number): { items: Message[]; nextCursor: string | null } {
    const end = this.messages.findIndex((m) => m.id === before);
    const start = Math.max(0, end - limit);
    return {
      items: this.messages.slice(start, Math.max(0, end)),
      nextCursor: start > 0 ? (this.messages[start]?.id ?? null) : null,
    };
  }

  change(more: Partial<Session>): void {
    this.session = { ...this.session, ...more, updatedAt: new Date().toISOString() };
    this.append(1, [{ type: 'session.changed', payload: { session: this.session } }]);
  }

  /** A run stopped to ask the player something. */
  suspend(id: string, reason: string, resumeSchema: unknown): void {
    const turnId = `t${String(this.turn)}`;
    const suspension: Suspension = {
      id,
      turnId,
      runtimeId: 'guide/ask',
      pluginId: 'guide',
      reason,
      resumeSchema,
    };
    this.suspensions.push(suspension);
    this.append(1, [{ type: 'turn.suspended', payload: { suspension } }]);
  }

  /** Nobody can answer it any more. */
  close(suspensionId: string): void {
    this.suspensions = this.suspensions.filter((s) => s.id !== suspensionId);
    this.append(1, [{ type: 'suspension.closed', payload: { suspensionId } }]);
  }

  /** A set-up that failed too often. */
  block(runtimeId: string, reason: string): void {
    this.execution = { state: 'failed', error: reason };
    this.change({ setupRuntimes: { [runtimeId]: { status: 'blocked', lastError: reason } } });
  }

  /** A session that was played for long before the test. */
  fill(messages: number): void {
    this.session = { ...this.session, phase: 'playing', completedPlayerTurns: Math.floor(messages / 2) };
    for (let i = 0; i < messages; i++) {
      const player = i % 2 === 0;
      const text = player
        ? `${String(i)}. ${this.telling.guide.suggestions[i % 4]?.text ?? ''}`
        : `${String(i)}. ${this.telling.passages[i % 3] ?? ''}`;
      this.tail++;
      this.messages.push(this.message(player ? 'player' : 'story', text));
    }
    this.execution = { state: 'completed' };
    this.tail++;
    this.log = [];
  }

  private message(source: Message['source'], text: string, more: Partial<Message> = {}): Message {
    this.serial++;
    return {
      id: `${this.id}-m${String(this.serial)}`,
      turnId: `t${String(this.turn)}`,
      seq: this.tail + 1,
      role: source === 'player' ? 'user' : 'assistant',
      source,
      text,
      createdAt: new Date().toISOString(),
      ...(source === 'story' && { runtimeId: 'narrator', pluginId: 'narrator' }),
      ...more,
    };
  }
  private serial = 0;

  private receive(ws: WebSocket, message: ClientMessage): void {
    switch (message.type) {
      case 'ping':
        send(ws, { type: 'pong' });
        return;
      case 'stop':
        this.stopped = true;
        this.server.release();
        return;
      case 'hello': {
        const at = message.lastSeq;
        const known =
          at !== undefined &&
          message.incarnation === this.session.incarnation &&
          (at === this.seq || this.log.some((f) => f.seq === at && f.lastId === message.lastId));
        const head = {
          type: 'welcome' as const,
          seq: this.seq,
          lastId: `e${String(this.seq)}`,
          incarnation: this.session.incarnation,
        };
        const running = this.running && { running: structuredClone(this.running) };
        if (known) {
          send(ws, { ...head, seq: at, lastId: message.lastId ?? '', resumed: true, ...running });
          for (const f of this.log) if (f.seq > at) send(ws, f);
        } else {
          send(ws, { ...head, resumed: false, view: this.view() });
        }
        this.sockets.add(ws);
        return;
      }
      default:
        this.command(ws, message);
    }
  }

  private command(ws: WebSocket, command: Command): void {
    this.received.push(command);
    const body = createHash('sha256')
      .update(JSON.stringify([command.type, command.payload, command.base]))
      .digest('hex');
    const before = this.seen.get(command.requestId);
    if (before !== undefined) {
      if (before.body !== body)
        refuse(ws, command, 'request_id_conflict', 'This id was used for something else.');
      else if (before.ack !== undefined) send(ws, { ...before.ack, repeat: true } as ServerMessage);
      return;
    }
    if (this.session.status !== 'active') {
      refuse(
        ws,
        command,
        this.session.status === 'ended' ? 'session_ended' : 'session_not_active',
        'Not active.',
      );
      return;
    }
    if (command.base !== undefined && command.base < this.seq) {
      const frames = this.log.filter((f) => f.seq > (command.base ?? 0));
      send(ws, {
        type: 'error',
        requestId: command.requestId,
        code: 'conflict',
        error: 'The story moved on.',
        issues: [],
        frames,
      });
      return;
    }
    const name = answerOf(command)?.fields?.['characterName'];
    if (typeof name === 'string' && /odran|龙胆/i.test(name)) {
      const taken =
        this.telling === chinese ? '这个名字已有人用了。' : 'Somebody here already has this name.';
      send(ws, {
        type: 'error',
        requestId: command.requestId,
        code: 'form_rejected',
        error: taken,
        details: { issues: [{ field: 'characterName', message: taken }] },
      } as unknown as ServerMessage);
      return;
    }
    this.seen.set(command.requestId, { body, ack: undefined });
    if (command.type === 'interject' && this.running !== undefined) {
      this.interjections.push({ command, socket: ws });
      return;
    }
    this.queue.push({ command, socket: ws });
    send(ws, { type: 'ack', requestId: command.requestId, status: 'queued', n: this.queue.length });
    void this.work();
  }

  private async work(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) {
      await this.play(next.command, next.socket);
    }
    this.busy = false;
  }

  private async play(command: Command, ws: WebSocket): Promise<void> {
    const { requestId } = command;
    this.turn++;
    this.stopped = false;
    const executionId = `x${String(this.turn)}`;
    if (command.type === 'resume_suspension') {
      const { suspensionId, data } = command.payload as { suspensionId: string; data: unknown };
      this.suspensions = this.suspensions.filter((s) => s.id !== suspensionId);
      const message = this.message('story', JSON.stringify(data));
      this.messages.push(message);
      this.append(2, [
        { type: 'turn.resumed', requestId, payload: { suspensionId } },
        { type: 'message.appended', requestId, payload: { message } },
      ]);
      return;
    }
    const answer = answerOf(command);
    const line = command.type === 'start_session' ? undefined : this.lineOf(command, answer);
    this.running = { executionId, n: 0, requestId, text: '', steps: [] };
    this.execution = {
      state: 'running',
      requestId,
      turnId: `t${String(this.turn)}`,
      startedAt: new Date().toISOString(),
      ...(line && { input: { text: line.text, message: line } }),
    };
    const events: CommittedEvent[] = [
      {
        type: 'actions.accepted',
        requestId,
        payload: { type: command.type, ...(line && { message: line }) },
      },
    ];
    if (answer?.interaction !== undefined) {
      const { turnId, interactionId } = answer.interaction;
      const values = answer.fields ?? {};
      events.push({
        type: 'interaction.submitted',
        requestId,
        payload: { results: [{ turnId, interactionId, values }] },
      });
      this.answer(values);
    }
    events.push({
      type: 'execution.started',
      requestId,
      turnId: `t${String(this.turn)}`,
      timestamp: new Date().toISOString(),
      payload: { executionId, requestId },
    });
    this.append(2, events);
    const ack: ServerMessage = { type: 'ack', requestId, status: 'accepted', version: this.seq, executionId };
    const entry = this.seen.get(requestId);
    if (entry) entry.ack = ack;
    send(ws, ack);

    if (command.type === 'start_session') await this.setup(requestId);
    else if (answer?.interaction?.type === 'form')
      await this.story(requestId, line, this.telling.opening, this.cast(answer.fields ?? {}));
    else await this.narrate(requestId, line);
  }

  private answer(values: Record<string, unknown>): void {
    this.messages = this.messages.map((m) =>
      m.interactions
        ? { ...m, interactions: m.interactions.map((i) => ({ ...i, status: 'answered' as const, values })) }
        : m,
    );
  }

  private filled(fields: Record<string, unknown>): string {
    return this.telling.template
      .replace('{{characterName}}', String(fields['characterName']))
      .replace('{{calling}}', String(fields['calling'] ?? '…'));
  }

  private lineOf(command: Command, answer: Action | undefined): Message {
    if (command.type === 'retry_turn') return this.message('player', this.lastLine);
    const fields = answer?.fields;
    const text =
      fields === undefined
        ? ((command.payload as { actions: Action[] }).actions[0]?.text ?? '')
        : 'characterName' in fields
          ? this.filled(fields)
          : String(fields['selectedId'] ?? fields['confirmed'] ?? '');
    this.lastLine = text;
    return this.message('player', text);
  }
  private lastLine = '';

  private async setup(requestId: string): Promise<void> {
    await this.write('pregame', 'setup', this.telling.greeting);
    if (this.stopped) {
      this.fail(requestId, undefined, 'aborted-by-player');
      return;
    }
    this.step('player-init', 'char-creator', 'setup');
    await wait(this.server.pace * 4);
    this.end(requestId, this.ask(requestId));
  }

  /** The end of the set-up: a welcome, and the form that asks who the player is. */
  private ask(requestId: string): CommittedEvent[] {
    const welcome = this.message('runtime', this.telling.greeting, {
      runtimeId: 'pregame',
      pluginId: 'pregame',
    });
    const { fields, placeholders, callings } = this.telling;
    const form: Interaction = {
      turnId: `t${String(this.turn)}`,
      interactionId: 'char-creation',
      type: 'form',
      status: 'open',
      block: {
        title: this.telling.formTitle,
        submitLabel: this.telling.submit,
        fields: [
          {
            type: 'text',
            name: 'characterName',
            label: fields.name,
            placeholder: placeholders.name,
            required: true,
          },
          {
            type: 'select',
            name: 'calling',
            label: fields.calling,
            required: true,
            options: callings.map((c) => ({ value: c, label: c })),
          },
          { type: 'textarea', name: 'reason', label: fields.reason, placeholder: placeholders.reason },
        ],
      },
    };
    const holder = this.message('runtime', '', { interactions: [form], runtimeId: 'player-init' });
    this.messages.push(welcome, holder);
    return [
      { type: 'message.appended', requestId, payload: { message: welcome } },
      {
        type: 'interaction.requested',
        requestId,
        payload: { messageId: holder.id, interaction: form, message: holder },
      },
    ];
  }

  /** The form filled in and the opening told, in no time: for tests of what comes after. */
  begin(characterName: string): void {
    const requestId = 'begin';
    const fields = { characterName, calling: this.telling.callings[1] };
    this.tail += this.ask(requestId).length;
    this.answer(fields);
    const line = this.message('player', this.filled(fields));
    this.tail += this.tell(requestId, line, this.telling.opening, this.cast(fields)).length;
    this.execution = { state: 'completed', requestId };
  }

  /** Who is in the story once the player has said who they are. */
  private cast(fields: Record<string, unknown>): CommittedEvent[] {
    const character: Character = {
      id: 'player-1',
      name: String(fields['characterName'] ?? ''),
      type: 'player',
      fields: { calling: fields['calling'], reason: fields['reason'] },
    };
    const keeper: Character = {
      id: 'odran',
      name: this.telling === chinese ? '龙胆' : 'Odran',
      type: 'npc',
      description: this.telling === chinese ? '管一号到九号灯的人。' : 'Keeper of the lamps one to nine.',
      aliases: this.telling === chinese ? ['守灯人'] : ['the keeper'],
    };
    this.characters = [character, keeper];
    this.session = { ...this.session, phase: 'playing' };
    return [
      { type: 'character.upserted', payload: { character } },
      { type: 'character.upserted', payload: { character: keeper } },
    ];
  }

  private async narrate(requestId: string, line: Message | undefined): Promise<void> {
    const text = this.telling.passages[this.passage % this.telling.passages.length] ?? '';
    const kind = this.server.next;
    this.server.next = 'fine';
    if (kind === 'fail') {
      await this.write('narrator', 'narrative', text, 0.6);
      this.fail(requestId, 'The model closed the connection after 214 words.', undefined, line);
      return;
    }
    this.passage++;
    await this.story(requestId, line, text, [], kind === 'choice');
  }

  private async story(
    requestId: string,
    line: Message | undefined,
    text: string,
    more: CommittedEvent[],
    choice = false,
  ): Promise<void> {
    await this.write('narrator', 'narrative', text);
    if (this.stopped) {
      this.fail(requestId, undefined, 'aborted-by-player', line);
      return;
    }
    this.step('guide', 'guide', 'post-turn');
    await wait(this.server.pace * 6);
    this.end(requestId, this.tell(requestId, line, text, more, choice));
  }

  private tell(
    requestId: string,
    line: Message | undefined,
    text: string,
    more: CommittedEvent[],
    choice = false,
  ): CommittedEvent[] {
    const message = this.message('story', text, choice ? { segments: segmentsOf(text) } : {});
    if (choice) {
      message.interactions = [
        {
          turnId: `t${String(this.turn)}`,
          interactionId: `choice-${String(this.turn)}`,
          type: 'choice',
          status: 'open',
          block: {
            prompt: this.telling.guide.decision,
            choices: this.telling.guide.suggestions.map((s, n) => ({
              id: `c${String(n)}`,
              label: s.text,
              ...(n === 2 && { description: '…' }),
            })),
          },
        },
      ];
    }
    if (line) this.messages.push({ ...line, seq: this.tail + 1 });
    for (const { command } of this.interjections.splice(0)) {
      const { text } = command.payload as { text: string };
      const said = this.message('player-interjection', text, { role: 'user' });
      this.messages.push(said);
      more.push({ type: 'message.appended', requestId: command.requestId, payload: { message: said } });
    }
    message.seq = this.tail + 2;
    this.messages.push(message);
    this.session = {
      ...this.session,
      completedPlayerTurns: this.session.completedPlayerTurns + 1,
      updatedAt: new Date().toISOString(),
    };
    const guide = { current: { turnId: message.turnId, ...this.telling.guide } };
    const entries = {
      lamp: {
        title: '第七盏灯 · The seventh lamp',
        text: 'It has *never* been lit.',
        kind: 'place',
        tags: ['lamp'],
      },
    };
    this.pluginData = {
      ...this.pluginData,
      guide: { message: guide },
      codex: { entries },
      broken: { entries: { n: 7 } },
    };
    return [
      { type: 'narrative.completed', requestId, payload: { message } },
      ...more,
      { type: 'session.changed', payload: { session: this.session } },
      {
        type: 'plugin-data.changed',
        payload: {
          pluginId: 'guide',
          changes: [{ namespace: 'message', key: 'current', value: guide.current, operation: 'set' }],
        },
      },
      {
        type: 'plugin-data.changed',
        payload: {
          pluginId: 'codex',
          changes: [{ namespace: 'entries', key: 'lamp', value: entries.lamp, operation: 'set' }],
        },
      },
      {
        type: 'plugin-data.changed',
        payload: {
          pluginId: 'broken',
          changes: [{ namespace: 'entries', key: 'n', value: 7, operation: 'set' }],
        },
      },
    ];
  }

  private async write(runtimeId: string, stage: string, text: string, share = 1): Promise<void> {
    this.step(runtimeId, runtimeId, stage);
    const pieces = text.slice(0, Math.floor(text.length * share)).match(/[\s\S]{1,9}/g) ?? [];
    let n = 0;
    for (const piece of pieces) {
      if (this.stopped) return;
      if (this.server.holdAfter !== undefined && n >= this.server.holdAfter)
        await this.server.waitForRelease();
      if (this.stopped) return;
      await wait(this.server.pace);
      if (this.running) {
        this.running.text += piece;
        this.running.textRuntimeId = runtimeId;
      }
      this.progress({ type: 'narrative.delta', payload: { runtimeId, pluginId: runtimeId, delta: piece } });
      n++;
    }
    this.progress({ type: 'runtime.completed', payload: { runtimeId, pluginId: runtimeId } });
    if (this.running) {
      this.running.steps = this.running.steps.map((s) =>
        s.runtimeId === runtimeId ? { ...s, status: 'success' } : s,
      );
    }
  }

  private step(runtimeId: string, pluginId: string, stage: string): void {
    const label = this.telling.labels[runtimeId as keyof Telling['labels']];
    this.running?.steps.push({ runtimeId, pluginId, label, stage, status: 'running' });
    this.progress({ type: 'runtime.started', payload: { runtimeId, pluginId, label, stage } });
  }

  private progress(event: TransientEvent): void {
    if (this.running === undefined) return;
    this.running.n++;
    this.everyone({ type: 'transient', executionId: this.running.executionId, n: this.running.n, event });
  }

  private end(requestId: string, events: CommittedEvent[]): void {
    const executionId = this.running?.executionId ?? '';
    this.running = undefined;
    this.execution = { state: 'completed', requestId };
    this.append(events.length + 1, [
      ...events,
      { type: 'turn.completed', requestId, payload: { executionId, committed: true, outcomes: [] } },
      { type: 'execution.completed', requestId, payload: { committed: true } },
    ]);
  }

  private fail(
    requestId: string,
    error: string | undefined,
    abortReason: string | undefined,
    line?: Message,
  ): void {
    const executionId = this.running?.executionId ?? '';
    const draft = this.running?.text ?? '';
    this.running = undefined;
    const rest = {
      ...(error !== undefined && { error }),
      ...(abortReason !== undefined && { abortReason }),
      ...(draft !== '' && { draft: { text: draft } }),
      ...(line && { input: { text: line.text, message: line } }),
      retry: { type: line ? ('retry_turn' as const) : ('start_session' as const), payload: {} },
    };
    this.execution = { state: 'failed', requestId, ...rest };
    this.append(1, [
      { type: 'turn.completed', requestId, payload: { executionId, committed: false, outcomes: [] } },
      { type: 'execution.completed', requestId, payload: { committed: false, ...rest } },
    ]);
  }

  private append(size: number, events: CommittedEvent[]): void {
    this.tail += size;
    const frame: Frame = { type: 'frame', seq: this.tail, lastId: `e${String(this.tail)}`, events };
    this.log.push(frame);
    this.everyone(frame);
  }

  /** For tests: anything, to everybody who listens. */
  everyone(message: ServerMessage): void {
    for (const ws of this.sockets) send(ws, message);
  }
}

function segmentsOf(text: string): Message['segments'] {
  return text
    .split('\n\n')
    .map((paragraph) =>
      /[“"]/.test(paragraph)
        ? { kind: 'dialogue', text: paragraph, speaker: /[\u4e00-\u9fff]/.test(paragraph) ? '龙胆' : 'Odran' }
        : { kind: 'narration', text: paragraph },
    );
}

function answerOf(command: Command): Action | undefined {
  const { actions } = (command.payload ?? {}) as { actions?: Action[] };
  return actions?.find((a) => a.interaction !== undefined);
}

function refuse(ws: WebSocket, command: Command, code: string, error: string): void {
  send(ws, { type: 'error', requestId: command.requestId, code, error, issues: [], frames: [] });
}

function send(ws: WebSocket, message: ServerMessage): void {
  if (ws.readyState === ws.OPEN) ws.send(JSON.stringify(message));
}

export function worldSummary(id: string, locale: string) {
  const world = worlds.find((w) => w.id === id) ?? worlds[0];
  const language = locale.startsWith('zh') ? 'zh-CN' : 'en';
  return {
    id: world.id,
    name: world.names[language],
    summary: world.summaries[language],
    tags: [...world.tags[language]],
    locales: [...world.locales],
    defaultLocale: 'en',
    accentColor: world.accentColor as string,
    version: '1.0.0',
  };
}
