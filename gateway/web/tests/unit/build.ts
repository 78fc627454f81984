import type {
  CommittedEvent,
  Frame,
  Interaction,
  Message,
  Refusal,
  ServerMessage,
  Session,
  Transient,
  TransientEvent,
  View,
  Welcome,
} from '../../src/protocol/types';
import { reduce } from '../../src/session/reducer';
import { emptyState, type SessionState } from '../../src/session/state';

/** Small builders: each names what a test is about and fills in the rest. */

export const INCARNATION = 'life-1';

export function session(more: Partial<Session> = {}): Session {
  return {
    id: 'mist-abc',
    worldId: 'mist',
    worldName: '雾港',
    incarnation: INCARNATION,
    status: 'active',
    phase: 'playing',
    completedPlayerTurns: 0,
    setupRuntimes: {},
    locale: 'en',
    activePlugins: ['narrator', 'guide'],
    createdAt: '2026-01-01T00:00:00Z',
    updatedAt: '2026-01-01T00:00:00Z',
    title: 'Mist',
    ...more,
  };
}

export function message(id: string, seq: number, more: Partial<Message> = {}): Message {
  return {
    id,
    turnId: 't1',
    seq,
    role: 'assistant',
    source: 'story',
    text: id,
    createdAt: '2026-01-01T00:00:00Z',
    ...more,
  };
}

export function playerLine(id: string, seq: number, text: string, more: Partial<Message> = {}): Message {
  return message(id, seq, { role: 'user', source: 'player', text, ...more });
}

export function form(interactionId: string, turnId: string, more: Partial<Interaction> = {}): Interaction {
  return {
    turnId,
    interactionId,
    type: 'form',
    status: 'open',
    block: { title: 'Who are you?', fields: [{ type: 'text', name: 'name', label: 'Name', required: true }] },
    ...more,
  };
}

export function view(more: Partial<View> = {}): View {
  return {
    seq: 10,
    lastId: 'e10',
    incarnation: INCARNATION,
    session: session(),
    world: { id: 'mist', name: '雾港', summary: '', tags: [], locales: ['en'], defaultLocale: 'en' },
    messages: [],
    messagesCursor: null,
    characters: [],
    characterSchema: null,
    seats: [],
    tree: { head: '', turns: [] },
    suspensions: [],
    pausedPlugins: [],
    pluginData: {},
    execution: { state: 'idle' },
    offline: false,
    ...more,
  };
}

export function welcome(v: View = view()): Welcome {
  return {
    type: 'welcome',
    seq: v.seq,
    lastId: v.lastId,
    incarnation: v.incarnation,
    resumed: false,
    view: v,
  };
}

export function resumed(seq: number, more: Partial<Welcome> = {}): Welcome {
  return {
    type: 'welcome',
    seq,
    lastId: `e${String(seq)}`,
    incarnation: INCARNATION,
    resumed: true,
    ...more,
  };
}

export function frame(seq: number, ...events: CommittedEvent[]): Frame {
  return { type: 'frame', seq, lastId: `e${String(seq)}`, events };
}

export function transient(executionId: string, n: number, event: TransientEvent): Transient {
  return { type: 'transient', executionId, n, event };
}

export function delta(executionId: string, n: number, text: string, reset = false): Transient {
  return transient(executionId, n, {
    type: 'narrative.delta',
    payload: { runtimeId: 'narrator', pluginId: 'narrator', delta: text, reset },
  });
}

export const accepted = (requestId: string, m: Message): CommittedEvent => ({
  type: 'actions.accepted',
  requestId,
  turnId: m.turnId,
  payload: { type: 'submit_actions', message: m },
});

export const started = (requestId: string, executionId: string): CommittedEvent => ({
  type: 'execution.started',
  requestId,
  turnId: 't1',
  timestamp: '2026-01-01T00:00:00Z',
  payload: { executionId, requestId, origin: 'player' },
});

export const narrated = (requestId: string, m: Message): CommittedEvent => ({
  type: 'narrative.completed',
  requestId,
  payload: { message: m },
});

export const turnCompleted = (requestId: string, executionId: string, committed = true): CommittedEvent => ({
  type: 'turn.completed',
  requestId,
  payload: { executionId, committed, outcomes: [] },
});

export const completed = (
  requestId: string,
  committed = true,
  more: Partial<Extract<CommittedEvent, { type: 'execution.completed' }>['payload']> = {},
): CommittedEvent => ({ type: 'execution.completed', requestId, payload: { committed, ...more } });

export const refusal = (requestId: string, code: string, more: Partial<Refusal> = {}): Refusal => ({
  type: 'error',
  requestId,
  code,
  error: code,
  issues: [],
  frames: [],
  ...more,
});

/** Feeds server messages to a state, or to a greeted one. */
export function feed(state: SessionState, ...messages: ServerMessage[]): SessionState {
  return messages.reduce((s, m) => reduce(s, { kind: 'server', message: m }), state);
}

export function greeted(v: View = view()): SessionState {
  return feed(emptyState(), welcome(v));
}

export function say(state: SessionState, requestId: string, text: string): SessionState {
  return reduce(state, {
    kind: 'submit',
    type: 'submit_actions',
    requestId,
    payload: { actions: [{ text }] },
  });
}

export function texts(state: SessionState): string[] {
  return (state.book?.messages ?? []).map((m) => m.text);
}

export function streamed(state: SessionState): string {
  return (state.work?.streams ?? []).map((s) => s.text).join('');
}
