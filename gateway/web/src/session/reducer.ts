import type {
  Ack,
  Action,
  CommandType,
  Frame,
  Message,
  MessagePage,
  Refusal,
  ServerMessage,
  Transient,
  View,
  Welcome,
} from '../protocol/types';
import { applyEvent, STOPPED } from './apply';
import { prepend } from './messages';
import { isBusy, workFrom, type Book, type Notice, type Outgoing, type SessionState } from './state';
import { progress } from './work';

/** Everything that can happen to a session as this client sees it. */
export type Input =
  | { kind: 'server'; message: ServerMessage }
  /** The player sends something. `requestId` is fresh, and stays with the command for all its life. */
  | { kind: 'submit'; type: CommandType; requestId: string; payload: unknown }
  /** The connection wrote a command to the socket. */
  | { kind: 'sent'; requestId: string }
  /** The socket is gone: what was not stored will be sent again. */
  | { kind: 'disconnected' }
  /** Something came that could not be read. */
  | { kind: 'unreadable' }
  | { kind: 'draft'; text: string }
  /** The player wants a line back that was never on its way: it returns to the input. */
  | { kind: 'takeBack'; requestId: string }
  | { kind: 'older'; cursor: string; page: MessagePage }
  | { kind: 'dismiss' };

/**
 * The whole client as a pure function. Whatever the order of frames, repeats, drops and resets: two clients
 * that saw the same stream hold the same book, and no line of the player is lost or sent twice.
 */
export function reduce(state: SessionState, input: Input): SessionState {
  switch (input.kind) {
    case 'server':
      return fromServer(state, input.message);
    case 'submit':
      return submit(state, input.type, input.requestId, input.payload);
    case 'sent':
      return mapOutgoing(state, input.requestId, (o) =>
        o.status === 'unsent' ? { ...o, status: 'sent', wasSent: true } : o,
      );
    case 'disconnected':
      return { ...state, outbox: unsend(state.outbox) };
    case 'unreadable':
      return { ...state, stale: true };
    case 'draft':
      return state.draft === input.text ? state : { ...state, draft: input.text };
    case 'takeBack': {
      // Once sent it may be stored, whatever we hear of it.
      const outgoing = state.outbox.find((o) => o.command.requestId === input.requestId && !o.wasSent);
      return outgoing === undefined ? state : giveBack(state, outgoing);
    }
    case 'older':
      return older(state, input.cursor, input.page);
    case 'dismiss':
      return withoutNotice(state);
  }
}

function fromServer(state: SessionState, message: ServerMessage): SessionState {
  switch (message.type) {
    case 'welcome':
      return greeted(state, message);
    case 'frame':
      return nextFrame(state, message);
    case 'transient':
      return transient(state, message);
    case 'ack':
      return acknowledged(state, message);
    case 'error':
      return refused(state, message);
    case 'system.reset':
      return { ...state, stale: true };
    case 'pong':
      return state;
  }
}

// Where we are in the stream

function greeted(state: SessionState, welcome: Welcome): SessionState {
  const { position } = state;
  if (welcome.view !== undefined) return fresh(state, welcome, welcome.view);

  const continues =
    welcome.resumed &&
    !state.stale &&
    position !== undefined &&
    position.incarnation === welcome.incarnation &&
    position.seq <= welcome.seq;
  if (!continues) return { ...state, stale: true };

  const next: SessionState = { ...state, outbox: unsend(state.outbox) };
  delete next.catchUp;
  delete next.work;
  delete next.ahead;
  if (position.seq < welcome.seq) next.catchUp = { head: welcome.seq };
  if (welcome.running !== undefined) {
    const work = workFrom(welcome.running);
    if (work.executionId === state.current) next.work = work;
    else next.ahead = work;
  }
  return settleOutbox(next);
}

function fresh(state: SessionState, welcome: Welcome, view: View): SessionState {
  const running = welcome.running ?? view.running;
  const { messages, messagesCursor } = withOlder(state, welcome.incarnation, view);
  const book: Book = {
    session: view.session,
    world: view.world,
    messages,
    messagesCursor,
    characters: view.characters,
    characterSchema: view.characterSchema,
    seats: view.seats,
    pluginData: view.pluginData,
    tree: view.tree,
    suspensions: view.suspensions,
    pausedPlugins: view.pausedPlugins,
    execution: view.execution,
    offline: view.offline,
  };
  if (view.gathering !== undefined) book.gathering = view.gathering;
  const next: SessionState = {
    ...state,
    position: { seq: welcome.seq, lastId: welcome.lastId, incarnation: welcome.incarnation },
    book,
    pending: pendingFrom(view),
    // A stream restored from an older backup may have lost what it had accepted: then it goes out again.
    outbox: unsend(state.outbox, welcome.seq),
    stale: false,
    ended: [],
  };
  delete next.catchUp;
  delete next.work;
  delete next.ahead;
  delete next.current;
  if (running !== undefined) {
    next.work = workFrom(running);
    next.current = running.executionId;
  }
  return settleOutbox(next);
}

/** A view holds the newest messages; what the reader had loaded before them stays, if it is the same story. */
function withOlder(
  state: SessionState,
  incarnation: string,
  view: View,
): { messages: Message[]; messagesCursor: string | null } {
  const first = view.messages[0];
  const before = state.book?.messages ?? [];
  const at = first === undefined ? -1 : before.findIndex((m) => m.id === first.id);
  if (state.book === undefined || at <= 0 || state.position?.incarnation !== incarnation) {
    return { messages: view.messages, messagesCursor: view.messagesCursor };
  }
  return {
    messages: [...before.slice(0, at), ...view.messages],
    messagesCursor: state.book.messagesCursor,
  };
}

/** A view shows history only; the line of the turn that is running is told by its execution. */
function pendingFrom(view: View): SessionState['pending'] {
  const { state, input, requestId } = view.execution;
  const message = input?.message;
  if (state !== 'running' || message === undefined || view.messages.some((m) => m.id === message.id))
    return [];
  return [{ message, ...(requestId !== undefined && { requestId }) }];
}

function nextFrame(state: SessionState, frame: Frame): SessionState {
  const { position, catchUp } = state;
  if (state.stale || position === undefined) return state;
  if (frame.seq < position.seq) return state;
  if (frame.seq === position.seq) {
    // The same number with another id comes from another life of the stream.
    const other = frame.lastId !== '' && position.lastId !== '' && frame.lastId !== position.lastId;
    return other ? { ...state, stale: true } : state;
  }
  // The frames that were missed lead exactly to the head the welcome named; jumping over it is a gap.
  if (catchUp !== undefined && frame.seq > catchUp.head) return { ...state, stale: true };

  let next = frame.events.reduce((s, event) => applyEvent(s, event, frame.seq), state);
  next = { ...next, position: { ...position, seq: frame.seq, lastId: frame.lastId } };
  next = shown(next, frame);
  if (catchUp !== undefined && frame.seq === catchUp.head) delete next.catchUp;
  return settleOutbox(next);
}

function transient(state: SessionState, message: Transient): SessionState {
  if (state.stale || state.book === undefined || state.ended.includes(message.executionId)) return state;
  const { event } = message;
  if (event.type === 'plugin.paused' || event.type === 'plugin.resumed') {
    const { pluginId } = event.payload;
    const others = state.book.pausedPlugins.filter((p) => p !== pluginId);
    const pausedPlugins = event.type === 'plugin.paused' ? [...others, pluginId] : others;
    return { ...state, book: { ...state.book, pausedPlugins } };
  }
  if (state.ahead?.executionId === message.executionId) {
    return { ...state, ahead: progress(state.ahead, message) };
  }
  const work = progress(state.work, message);
  if (work === state.work) return state;
  // It waits no more: the turn begins and tells so itself, or its command was refused or stopped.
  const over =
    message.event.type === 'turn.settling' && !work.settling && work.steps.length + work.streams.length === 0;
  const next: SessionState = { ...state, work };
  if (over) delete next.work;
  return next;
}

function older(state: SessionState, cursor: string, page: MessagePage): SessionState {
  const { book } = state;
  if (book?.messagesCursor !== cursor) return state;
  const messages = prepend(book.messages, page.items);
  return { ...state, book: { ...book, messages, messagesCursor: page.nextCursor } };
}

// What we send

function submit(state: SessionState, type: CommandType, requestId: string, payload: unknown): SessionState {
  if (state.outbox.some((o) => o.command.requestId === requestId)) return state;
  const outgoing: Outgoing = {
    command: { type, requestId, payload },
    status: 'unsent',
    wasSent: false,
    ahead: 0,
    version: 0,
  };
  // A line answers what its writer has read. While a turn runs it can only queue behind it.
  const answersWhatWasRead = type === 'submit_actions' && !isBusy(state) && state.outbox.length === 0;
  if (answersWhatWasRead && state.position !== undefined) outgoing.command.base = state.position.seq;
  return withoutNotice({ ...state, outbox: [...state.outbox, outgoing] });
}

/** What is not stored goes out again; what is stored in a version the stream does not have, too. */
function unsend(outbox: Outgoing[], head = Infinity): Outgoing[] {
  return outbox.map((o) =>
    o.status === 'accepted' && o.version <= head ? o : { ...o, status: 'unsent', ahead: 0 },
  );
}

function acknowledged(state: SessionState, ack: Ack): SessionState {
  const next = mapOutgoing(state, ack.requestId, (o) => {
    if (ack.status === 'accepted') return { ...o, status: 'accepted', version: ack.version };
    return o.status === 'accepted' ? o : { ...o, status: 'queued', ahead: ack.n };
  });
  return settleOutbox(next);
}

/** A command leaves the outbox once it is stored and what it led to is on the page. */
function settleOutbox(state: SessionState): SessionState {
  const seq = state.position?.seq ?? -1;
  const outbox = state.outbox.filter((o) => o.status !== 'accepted' || o.version > seq);
  return outbox.length === state.outbox.length ? state : { ...state, outbox };
}

/** A frame that speaks of a command proves that it is stored, also when its ack was lost on the way. */
function shown(state: SessionState, frame: Frame): SessionState {
  const ids = new Set(frame.events.map((e) => e.requestId));
  const outbox = state.outbox.filter((o) => !ids.has(o.command.requestId));
  return outbox.length === state.outbox.length ? state : { ...state, outbox };
}

const REBASES = 3;
const storyEvents: ReadonlySet<string> = new Set([
  'actions.accepted',
  'interaction.submitted',
  'interaction.requested',
  'narrative.completed',
  'message.appended',
  'execution.started',
]);

function refused(state: SessionState, refusal: Refusal): SessionState {
  // Stopping what has just ended by itself is no fault worth telling.
  if (refusal.code === 'no_running_turn') return state;
  if (refusal.code === 'hello_required') return { ...state, stale: true };

  const outgoing = state.outbox.find((o) => o.command.requestId === refusal.requestId);
  // The server will be back, and so will we: the command stays and goes out again.
  if (outgoing !== undefined && refusal.code === 'server_shutting_down') {
    return mapOutgoing(state, outgoing.command.requestId, (o) => ({ ...o, status: 'unsent' }));
  }

  const told = refusal.frames.reduce(nextFrame, state);
  if (outgoing === undefined) return { ...told, notice: noticeOf(refusal, undefined) };

  const storyMoved = refusal.frames.some((f) => f.events.some((e) => storyEvents.has(e.type)));
  if (refusal.code === 'conflict' && !storyMoved && told.position !== undefined) {
    const again = rebased(outgoing, told.position.seq);
    if (again !== undefined) {
      return { ...told, outbox: told.outbox.map((o) => (o === outgoing ? again : o)) };
    }
  }

  // The player stopped it before it began: the line is back in the input, and that says it all.
  if (refusal.code === STOPPED) return giveBack(told, outgoing);

  const next: SessionState = {
    ...giveBack(told, outgoing),
    notice: noticeOf(refusal, interactionOf(outgoing)),
  };
  // A turn that was refused while it waited to begin leaves nothing at work.
  if (next.work?.settling && next.work.steps.length === 0 && next.work.streams.length === 0) delete next.work;
  return next;
}

/** A command leaves the outbox; its line, if it has one, goes back into the input, before what was typed since. */
function giveBack(state: SessionState, outgoing: Outgoing): SessionState {
  const outbox = state.outbox.filter((o) => o !== outgoing);
  const line = spokenText(outgoing);
  if (line === undefined) return { ...state, outbox };
  return { ...state, outbox, draft: state.draft.trim() === '' ? line : `${line}\n${state.draft}` };
}

/** The same line for the newer head, when nothing that a reader sees lies between; a few times at most. */
function rebased(outgoing: Outgoing, base: number): Outgoing | undefined {
  const [id = '', count = '0'] = outgoing.command.requestId.split(/:(?=\d+$)/);
  if (Number(count) >= REBASES || outgoing.command.base === base) return undefined;
  const requestId = `${id}:${String(Number(count) + 1)}`;
  return { ...outgoing, command: { ...outgoing.command, requestId, base }, status: 'unsent', wasSent: false };
}

function noticeOf(refusal: Refusal, interactionId: string | undefined): Notice {
  const notice: Notice = { code: refusal.code, text: refusal.error, issues: refusal.issues };
  if (interactionId !== undefined) notice.interactionId = interactionId;
  return notice;
}

function actionsOf(outgoing: Outgoing): Action[] {
  const { actions } = (outgoing.command.payload ?? {}) as { actions?: Action[] };
  return outgoing.command.type === 'submit_actions' ? (actions ?? []) : [];
}

/** The line a command carries, as the player typed it; undefined for answers and everything else. */
export function spokenText(outgoing: Outgoing): string | undefined {
  if (outgoing.command.type === 'interject') return (outgoing.command.payload as { text: string }).text;
  const lines = actionsOf(outgoing).filter((a) => a.interaction === undefined && a.text !== undefined);
  return lines.length === 0 ? undefined : lines.map((a) => a.text).join('\n');
}

/** The question a command answers: an interaction, or a run that waits. */
export function interactionOf(outgoing: Outgoing): string | undefined {
  if (outgoing.command.type === 'resume_suspension') {
    return (outgoing.command.payload as { suspensionId: string }).suspensionId;
  }
  return actionsOf(outgoing).find((a) => a.interaction !== undefined)?.interaction?.interactionId;
}

function mapOutgoing(
  state: SessionState,
  requestId: string,
  change: (o: Outgoing) => Outgoing,
): SessionState {
  return {
    ...state,
    outbox: state.outbox.map((o) => (o.command.requestId === requestId ? change(o) : o)),
  };
}

function withoutNotice(state: SessionState): SessionState {
  if (state.notice === undefined) return state;
  const next = { ...state };
  delete next.notice;
  return next;
}
