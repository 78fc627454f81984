import type {
  Character,
  Command,
  Execution,
  Gathering,
  Issue,
  Message,
  PluginData,
  Running,
  Seat,
  Session,
  Step,
  Suspension,
  Tree,
  WorldSummary,
} from '../protocol/types';

/** Where this client stands in the session's stream; what `hello` sends to resume. */
export interface Position {
  seq: number;
  lastId: string;
  incarnation: string;
}

/** Everything committed, as the view gives it and the frames change it. */
export interface Book {
  session: Session;
  world: WorldSummary;
  /** Oldest first, by `seq`, each id once. */
  messages: Message[];
  /** Opens the page of older messages; null when the first message is here. */
  messagesCursor: string | null;
  characters: Character[];
  characterSchema: unknown;
  seats: Seat[];
  pluginData: PluginData;
  tree: Tree;
  /** Runs that wait for the player, oldest first. */
  suspensions: Suspension[];
  /** The turn to come, while it waits for the other seats. */
  gathering?: Gathering;
  /** Plugins that do not run after repeated errors. */
  pausedPlugins: string[];
  execution: Execution;
  offline: boolean;
}

/** Prose on its way, of one runtime. Never more than a promise until its frame comes. */
export interface Stream {
  runtimeId: string;
  text: string;
}

/** The turn at work, as far as progress messages told. */
export interface Work {
  executionId: string;
  /** The last progress number seen; older ones are repeats. */
  n: number;
  requestId?: string;
  streams: Stream[];
  steps: Step[];
  settling: boolean;
  /** The model is asked again after so many milliseconds: a rate limit, or a failure that may pass. */
  waitMs?: number;
}

/**
 * A player's line between acceptance and commit: safe on the server, not yet history.
 * It joins the messages when its turn commits and goes back to the player when it does not.
 */
export interface PendingLine {
  requestId?: string;
  message: Message;
}

/**
 * A command on its way.
 * - `unsent`: to be written to the socket as soon as there is one
 * - `sent`: written, not answered
 * - `queued`: waiting behind others; not durable
 * - `accepted`: stored; stays until the frame that shows it is here
 * After a reconnect everything that is not accepted goes out again with the same id and the same body.
 */
export interface Outgoing {
  command: Command;
  status: 'unsent' | 'sent' | 'queued' | 'accepted';
  /** Whether it ever left this page: from then on the server may have stored it. */
  wasSent: boolean;
  /** How many wait before it, when queued. */
  ahead: number;
  /** The stream version that holds it, when accepted. */
  version: number;
}

/** A refusal to show, until it is dismissed or another command goes out. */
export interface Notice {
  code: string;
  text: string;
  /** The interaction it is about, if any. */
  interactionId?: string;
  issues: Issue[];
}

export interface SessionState {
  position?: Position;
  book?: Book;
  work?: Work;
  pending: PendingLine[];
  outbox: Outgoing[];
  /** The text in the input; refused lines come back into it. */
  draft: string;
  notice?: Notice;
  /**
   * What this client has is no longer a prefix of the stream (or cannot be trusted to be):
   * frames are ignored until a welcome with a view.
   */
  stale: boolean;
  /** While missed frames are coming and the welcome named the head they lead to. */
  catchUp?: { head: number };
  /** The execution that began and has not ended, as far as the frames have told. */
  current?: string;
  /** The work of an execution whose beginning is still among the missed frames: it waits for it. */
  ahead?: Work;
  /** The executions that ended last: a late progress message must not wake them. */
  ended: string[];
}

export function emptyState(saved?: { outbox: Outgoing[]; draft: string }): SessionState {
  return {
    pending: [],
    outbox: (saved?.outbox ?? []).map((o) => ({ ...o, status: 'unsent' })),
    draft: saved?.draft ?? '',
    stale: true,
    ended: [],
  };
}

export function workFrom(running: Running): Work {
  const work: Work = {
    executionId: running.executionId,
    n: running.n,
    streams: running.text === '' ? [] : [{ runtimeId: running.textRuntimeId ?? '', text: running.text }],
    steps: running.steps,
    settling: false,
  };
  if (running.requestId !== undefined) work.requestId = running.requestId;
  return work;
}

/** True while a turn runs or is about to: the time to offer Stop and to show who is at work. */
export function isBusy(state: SessionState): boolean {
  return state.work !== undefined || state.book?.execution.state === 'running';
}
