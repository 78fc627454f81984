/**
 * The shapes a Covel server sends and accepts, as docs/protocol.md states them.
 * Nothing here is derived or convenient: what the interface needs beyond the wire lives in `session/`.
 */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface WorldSummary {
  id: string;
  name: string;
  summary: string;
  tags: string[];
  locales: string[];
  defaultLocale: string;
  accentColor?: string;
  version?: string;
}

export interface World extends WorldSummary {
  lore: string;
  greeting: string;
}

export type SessionStatus = 'active' | 'paused' | 'ended';

export interface SetupRuntime {
  status: 'pending' | 'done' | 'blocked';
  generation?: number;
  attempts?: number;
  lastError?: string;
  resolution?: string;
  reason?: string;
}

export interface Session {
  id: string;
  worldId: string;
  worldName: string;
  incarnation: string;
  status: SessionStatus;
  phase: 'setup' | 'playing';
  completedPlayerTurns: number;
  setupRuntimes: Record<string, SetupRuntime>;
  locale: string;
  activePlugins: string[];
  createdAt: string;
  updatedAt: string;
  title: string;
}

export interface Segment {
  kind: 'narration' | 'dialogue' | 'action';
  text: string;
  speaker?: string;
  characterId?: string;
}

export interface MessageAction {
  kind: string;
  text: string;
  characterId?: string;
  seatId?: string;
  interaction?: InteractionRef;
}

export interface Message {
  id: string;
  turnId: string;
  /** Orders messages inside the session. */
  seq: number;
  role: 'user' | 'assistant';
  source: 'player' | 'player-interjection' | 'story' | 'runtime';
  runtimeId?: string;
  pluginId?: string;
  text: string;
  segments?: Segment[];
  truncated?: boolean;
  metadata?: { actions: MessageAction[] };
  characterName?: string;
  interactions?: Interaction[];
  blocks?: UIBlock[];
  createdAt: string;
}

export interface InteractionRef {
  turnId: string;
  interactionId: string;
  type: 'form' | 'choice' | 'confirmation';
}

export interface Interaction extends InteractionRef {
  status: 'open' | 'answered' | 'void';
  block: InteractionBlock;
  values?: Record<string, unknown>;
}

/** One block shape for all three types: a form has `fields`, a choice has `choices`, a confirmation neither. */
export interface InteractionBlock {
  title?: string;
  prompt?: string;
  message?: string;
  notice?: string;
  fields?: FormField[];
  choices?: Choice[];
  submitLabel?: string;
  confirmLabel?: string;
  cancelLabel?: string;
  narrativeTemplate?: string;
  actionKind?: string;
}

export interface FormField {
  type: 'text' | 'textarea' | 'select' | 'checkbox' | 'number';
  name: string;
  label: string;
  placeholder?: string;
  options?: FieldOption[];
  required?: boolean;
  defaultValue?: string | number | boolean;
  min?: number;
  max?: number;
  step?: number;
}

/** A select option. The wire also allows a bare string, which stands for both parts. */
export interface FieldOption {
  value: string;
  label: string;
}

export interface Choice {
  id: string;
  label: string;
  description?: string;
  category?: string;
}

export interface UIPart {
  id: string;
  type: string;
  status: 'pending' | 'streaming' | 'success' | 'error' | 'paused';
  content: unknown;
}

export interface UIBlock {
  parts: UIPart[];
  layout?: string;
}

export interface Character {
  id: string;
  name: string;
  aliases?: string[];
  type: string;
  description?: string;
  fields?: Record<string, unknown>;
  version?: number;
}

export interface Seat {
  id: string;
  name?: string;
  role?: string;
  control?: string;
  characterIds?: string[];
  currentCharacterId?: string;
  primary?: boolean;
}

/** One player turn. `takes` are the turns of the same moment, itself included, oldest first. */
export interface Turn {
  turnId: string;
  before?: string;
  name?: string;
  onPath: boolean;
  takes: string[];
}

/** How the player turns stand to each other; `head` is the newest of the story, '' before the first. */
export interface Tree {
  head: string;
  turns: Turn[];
}

/** A run that waits for the player. `resumeSchema` says what may answer it; null: anything. */
export interface Suspension {
  id: string;
  turnId: string;
  runtimeId: string;
  pluginId: string;
  reason: string;
  resumeSchema: unknown;
}

/** Who has said what they want to do in the turn to come, and who is waited for. */
export interface Gathering {
  submissions: { seatId: string; requestId: string }[];
  waitingFor: string[];
}

/** Plugin data as stored: plugin id → namespace → key → value. */
export type PluginData = Record<string, Record<string, Record<string, unknown>>>;

export interface RetryCommand {
  type: CommandType;
  payload: unknown;
}

export interface Execution {
  state: 'idle' | 'running' | 'completed' | 'failed' | 'interrupted';
  turnId?: string;
  requestId?: string;
  origin?: string;
  startedAt?: string;
  error?: string;
  abortReason?: string;
  /** What to send again, with a fresh `requestId`. */
  retry?: RetryCommand;
  /** The player's line that is kept: as text, and as the row it will be when the turn commits. */
  input?: { text: string; message?: Message };
  /** Partial prose of a failed turn: shown as a draft, never as story. */
  draft?: { text: string };
}

export type StepStatus = 'running' | 'success' | 'failed' | 'skipped' | 'suspended';

export interface Step {
  runtimeId: string;
  pluginId: string;
  label: string;
  stage: string;
  status: StepStatus;
}

export interface Running {
  executionId: string;
  n: number;
  requestId?: string;
  text: string;
  textRuntimeId?: string;
  steps: Step[];
}

export interface View {
  seq: number;
  lastId: string;
  incarnation: string;
  session: Session;
  world: WorldSummary;
  messages: Message[];
  messagesCursor: string | null;
  characters: Character[];
  characterSchema: unknown;
  seats: Seat[];
  pluginData: PluginData;
  tree: Tree;
  suspensions: Suspension[];
  gathering?: Gathering;
  pausedPlugins: string[];
  execution: Execution;
  running?: Running;
  offline: boolean;
}

/** One entry of `GET /api/ui-specs`. */
export interface PluginSpec {
  pluginId: string;
  spec: unknown;
}

export interface UISpecs {
  right: PluginSpec[];
  message: PluginSpec[];
  left: PluginSpec[];
}

export interface Health {
  status: string;
  version: string;
  offline: boolean;
}

export interface MessagePage {
  items: Message[];
  nextCursor: string | null;
}

// Commands

export type CommandType =
  | 'start_session'
  | 'submit_actions'
  | 'retry_turn'
  | 'interject'
  | 'resume_suspension'
  | 'move_head'
  | 'regenerate';

export interface Action {
  kind?: string;
  text?: string;
  seatId?: string;
  characterId?: string;
  interaction?: InteractionRef;
  fields?: Record<string, unknown>;
}

export interface Command {
  type: CommandType;
  requestId: string;
  base?: number;
  payload: unknown;
}

export type ClientMessage =
  | { type: 'hello'; lastSeq?: number; lastId?: string; incarnation?: string }
  | Command
  | { type: 'stop' }
  | { type: 'ping' };

// Events

interface EventOf<T extends string, P> {
  type: T;
  turnId?: string;
  requestId?: string;
  timestamp?: string;
  payload: P;
}

export interface PluginDataChange {
  namespace: string;
  key: string;
  value?: unknown;
  operation: 'set' | 'delete';
}

export type CommittedEvent =
  | EventOf<'actions.accepted', { type: string; message?: Message }>
  | EventOf<
      'interaction.submitted',
      {
        results: {
          turnId: string;
          interactionId: string;
          values?: Record<string, unknown>;
          filledNarrative?: string;
        }[];
      }
    >
  | EventOf<
      'execution.started',
      { executionId: string; origin?: string; logicalTurn?: number; phase?: string; requestId?: string }
    >
  | EventOf<'tree.changed', Tree>
  | EventOf<'branch.named', { turnId: string; name: string }>
  | EventOf<'message.revised', { message: Message }>
  | EventOf<'narrative.completed', { message: Message }>
  | EventOf<'message.appended', { message: Message }>
  | EventOf<'interaction.requested', { messageId: string; interaction: Interaction; message?: Message }>
  | EventOf<'ui.rendered', { messageId: string; block: UIBlock }>
  | EventOf<'plugin-data.changed', { pluginId: string; changes: PluginDataChange[] }>
  | EventOf<'character.upserted', { character: Character }>
  | EventOf<'character-schema.changed', { schema: unknown }>
  | EventOf<'turn.suspended', { suspension: Suspension }>
  | EventOf<'turn.resumed', { suspensionId: string }>
  | EventOf<'suspension.closed', { suspensionId: string }>
  | EventOf<'gathering.changed', { gathering: Gathering | null }>
  | EventOf<'event.emitted', { topic: string; data?: unknown; pluginId?: string }>
  | EventOf<'session.changed', { session: Session }>
  | EventOf<
      'turn.completed',
      {
        executionId: string;
        committed: boolean;
        outcomes: { runtimeId: string; status: string; error?: string }[];
      }
    >
  | EventOf<
      'execution.completed',
      {
        committed: boolean;
        error?: string;
        abortReason?: string;
        draft?: { text: string };
        retry?: RetryCommand;
        input?: { text: string; message?: Message };
      }
    >;

export type TransientEvent =
  | EventOf<
      'runtime.started',
      { runtimeId: string; pluginId: string; runId?: string; label: string; stage: string }
    >
  | EventOf<
      'runtime.completed' | 'runtime.failed' | 'runtime.skipped' | 'runtime.suspended',
      { runtimeId: string; pluginId: string; status?: string; error?: string; skipReason?: string }
    >
  | EventOf<'narrative.delta', { runtimeId: string; pluginId: string; delta: string; reset?: boolean }>
  | EventOf<'tool.calling' | 'tool.completed' | 'tool.failed', { runtimeId: string; toolName: string }>
  | EventOf<'llm.waiting', { runtimeId: string; waitMs: number }>
  | EventOf<'plugin.paused' | 'plugin.resumed', { pluginId: string }>
  | EventOf<'turn.settling', { jobs: { jobId: string; runtimeId: string; pluginId: string }[] }>;

// Server to client

export interface Welcome {
  type: 'welcome';
  seq: number;
  lastId: string;
  incarnation: string;
  resumed: boolean;
  view?: View;
  running?: Running;
}

export interface Frame {
  type: 'frame';
  seq: number;
  lastId: string;
  events: CommittedEvent[];
}

export interface Transient {
  type: 'transient';
  executionId: string;
  n: number;
  event: TransientEvent;
}

export type Ack =
  | { type: 'ack'; requestId: string; status: 'queued'; n: number }
  | {
      type: 'ack';
      requestId: string;
      status: 'accepted';
      version: number;
      executionId?: string;
      repeat?: boolean;
    };

/** One fault in a request or form: `field` is absent when the whole is meant. */
export interface Issue {
  field?: string;
  message: string;
}

export interface Refusal {
  type: 'error';
  requestId?: string;
  code: string;
  error: string;
  issues: Issue[];
  /** The frames after `base`, with a `conflict`. */
  frames: Frame[];
}

export interface Reset {
  type: 'system.reset';
  reason: string;
}

export type ServerMessage = Welcome | Frame | Transient | Ack | Refusal | Reset | { type: 'pong' };
