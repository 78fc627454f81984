import type { CommittedEvent, Execution, Message, PluginData, PluginDataChange } from '../protocol/types';
import { answer, attachBlock, attachInteraction, supersede, upsert } from './messages';
import type { Book, SessionState, Work } from './state';
import { grow, rename } from './tree';
import { withdraw } from './work';

const ENDED_KEPT = 8;

/** Folds one committed event. `seq` is that of its frame. Pure; a state without a book is left alone. */
export function applyEvent(state: SessionState, event: CommittedEvent, seq: number): SessionState {
  const book = state.book;
  if (book === undefined) return state;
  const messages = (next: Message[]): SessionState =>
    next === book.messages ? state : { ...state, book: { ...book, messages: next } };

  switch (event.type) {
    case 'actions.accepted': {
      const { message } = event.payload;
      if (message === undefined || book.messages.some((m) => m.id === message.id)) return state;
      const line = { message, ...(event.requestId !== undefined && { requestId: event.requestId }) };
      return { ...state, pending: [...state.pending.filter((p) => p.message.id !== message.id), line] };
    }

    case 'interaction.submitted':
      return messages(
        event.payload.results.reduce(
          (all, r) => answer(all, r.turnId, r.interactionId, r.values),
          book.messages,
        ),
      );

    case 'execution.started':
      return started(state, book, event);

    case 'tree.changed':
      return { ...state, book: { ...book, tree: grow(book.tree, event.payload) } };

    case 'branch.named': {
      const { turnId, name } = event.payload;
      return { ...state, book: { ...book, tree: rename(book.tree, turnId, name) } };
    }

    case 'message.revised':
      return messages(upsert(book.messages, event.payload.message));

    case 'narrative.completed':
    case 'message.appended': {
      const { message } = event.payload;
      const all = event.type === 'narrative.completed';
      // A story without the name of its runtime replaces everything that streamed.
      const replaces = message.runtimeId !== undefined || all;
      return {
        ...messages(upsert(book.messages, message)),
        work: replaces ? withdraw(state.work, message.runtimeId) : state.work,
        pending: state.pending.filter((p) => p.message.id !== message.id),
      };
    }

    case 'interaction.requested': {
      const { interaction, message, messageId } = event.payload;
      let all = supersede(book.messages, interaction);
      if (message !== undefined) all = upsert(all, message);
      const next = messages(attachInteraction(all, messageId, seq, interaction));
      return message?.runtimeId === undefined
        ? next
        : { ...next, work: withdraw(state.work, message.runtimeId) };
    }

    case 'ui.rendered':
      return messages(
        attachBlock(book.messages, event.payload.messageId, event.turnId ?? '', seq, event.payload.block),
      );

    case 'plugin-data.changed': {
      const { pluginId, changes } = event.payload;
      return { ...state, book: { ...book, pluginData: changeData(book.pluginData, pluginId, changes) } };
    }

    case 'character.upserted': {
      const { character } = event.payload;
      const known = book.characters.some((c) => c.id === character.id);
      const characters = known
        ? book.characters.map((c) => (c.id === character.id ? character : c))
        : [...book.characters, character];
      return { ...state, book: { ...book, characters } };
    }

    case 'character-schema.changed':
      return { ...state, book: { ...book, characterSchema: event.payload.schema } };

    case 'turn.suspended': {
      const { suspension } = event.payload;
      const others = book.suspensions.filter((s) => s.id !== suspension.id);
      return { ...state, book: { ...book, suspensions: [...others, suspension] } };
    }

    case 'turn.resumed':
    case 'suspension.closed': {
      const { suspensionId } = event.payload;
      const suspensions = book.suspensions.filter((s) => s.id !== suspensionId);
      return { ...state, book: { ...book, suspensions } };
    }

    case 'gathering.changed': {
      const { gathering: _, ...rest } = book;
      const { gathering } = event.payload;
      return { ...state, book: gathering === null ? rest : { ...rest, gathering } };
    }

    case 'session.changed':
      return { ...state, book: { ...book, session: event.payload.session } };

    case 'turn.completed': {
      const settled = event.payload.committed ? keepPending(state, book, event.requestId) : state;
      return endWork(settled, event.payload.executionId);
    }

    case 'execution.completed':
      return completed(state, book, event);

    case 'event.emitted':
      return state;
  }
}

type Of<T extends CommittedEvent['type']> = Extract<CommittedEvent, { type: T }>;

function started(state: SessionState, book: Book, event: Of<'execution.started'>): SessionState {
  const { executionId, origin } = event.payload;
  const requestId = event.payload.requestId ?? event.requestId;
  const before = book.execution;
  const sameRequest = before.state === 'running' && requestId !== undefined && before.requestId === requestId;
  const execution: Execution = { state: 'running' };
  if (requestId !== undefined) execution.requestId = requestId;
  if (event.turnId !== undefined) execution.turnId = event.turnId;
  if (origin !== undefined) execution.origin = origin;
  // One request may run several executions; the player waits for all of them.
  const since = sameRequest ? before.startedAt : event.timestamp;
  if (since !== undefined) execution.startedAt = since;

  const fresh: Work = { executionId, n: 0, streams: [], steps: [], settling: false };
  const known = [state.work, state.ahead].find((w) => w?.executionId === executionId);
  const work: Work = { ...(known ?? fresh) };
  if (requestId !== undefined) work.requestId = requestId;
  const next: SessionState = { ...state, book: { ...book, execution }, work, current: executionId };
  if (next.ahead?.executionId === executionId) delete next.ahead;
  return next;
}

function completed(state: SessionState, book: Book, event: Of<'execution.completed'>): SessionState {
  const { committed, error, abortReason, retry, input, draft } = event.payload;
  const mine = (requestId: string | undefined) =>
    requestId === undefined || event.requestId === undefined || requestId === event.requestId;
  const line = state.pending.find((p) => mine(p.requestId));

  const execution: Execution = {
    state: committed ? 'completed' : wasInterrupted(abortReason) ? 'interrupted' : 'failed',
  };
  if (event.requestId !== undefined) execution.requestId = event.requestId;
  if (event.turnId !== undefined) execution.turnId = event.turnId;
  if (!committed) {
    if (error !== undefined) execution.error = error;
    if (abortReason !== undefined) execution.abortReason = abortReason;
    if (retry !== undefined) execution.retry = retry;
    if (draft !== undefined) execution.draft = draft;
    if (input !== undefined) execution.input = input;
    else if (line !== undefined) execution.input = { text: line.message.text };
  }

  const settled = committed ? keepPending(state, book, event.requestId) : state;
  const next: SessionState = {
    ...settled,
    book: { ...(settled.book ?? book), execution },
    pending: settled.pending.filter((p) => !mine(p.requestId)),
  };
  const over = next.work !== undefined && mine(next.work.requestId) ? next.work.executionId : undefined;
  return over === undefined ? next : endWork(next, over);
}

/** The player's own Stop. */
export const STOPPED = 'aborted-by-player';

/** Cut off by something else than the player: a crash, a restart. */
function wasInterrupted(abortReason: string | undefined): boolean {
  return abortReason !== undefined && abortReason !== STOPPED;
}

/** The player's lines of a request become history, because its turn did. */
function keepPending(state: SessionState, book: Book, requestId: string | undefined): SessionState {
  const mine = state.pending.filter(
    (p) => p.requestId === undefined || requestId === undefined || p.requestId === requestId,
  );
  if (mine.length === 0) return state;
  return {
    ...state,
    book: { ...book, messages: mine.reduce((all, p) => upsert(all, p.message), book.messages) },
    pending: state.pending.filter((p) => !mine.includes(p)),
  };
}

/** What was streamed and not replaced is taken back; late progress of this execution is not for us. */
function endWork(state: SessionState, executionId: string): SessionState {
  const ended = [...state.ended.filter((id) => id !== executionId), executionId].slice(-ENDED_KEPT);
  const next: SessionState = { ...state, ended };
  if (state.work?.executionId === executionId) delete next.work;
  if (state.ahead?.executionId === executionId) delete next.ahead;
  if (state.current === executionId) delete next.current;
  return next;
}

/**
 * Sets and removes plugin values. Names come from plugins and may be anything (`__proto__` too): computed
 * members of object literals are always own properties, so nothing reaches a prototype.
 */
export function changeData(data: PluginData, pluginId: string, changes: PluginDataChange[]): PluginData {
  let plugin = own(data, pluginId) ?? {};
  for (const change of changes) {
    const namespace = own(plugin, change.namespace) ?? {};
    if (change.operation === 'set') {
      plugin = { ...plugin, [change.namespace]: { ...namespace, [change.key]: change.value } };
    } else {
      const rest = Object.fromEntries(Object.entries(namespace).filter(([key]) => key !== change.key));
      plugin = { ...plugin, [change.namespace]: rest };
    }
  }
  return { ...data, [pluginId]: plugin };
}

function own<T>(record: Record<string, T>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
