/**
 * Runtime guards for everything that comes from the server.
 *
 * They ask for what the client cannot do without (ids, numbers, types) and forgive the rest: a list that is
 * `null` is empty, a text that is missing is empty, an unknown field is dropped, an unknown event type is
 * skipped. So an older page goes on working with a newer server.
 */
import './zod';
import { z } from 'zod';
import type * as t from './types';

const text = z
  .string()
  .nullish()
  .transform((v) => v ?? '');
const list = <S extends z.ZodType>(item: S) =>
  z
    .array(item)
    .nullish()
    .transform((v) => v ?? []);
const maybe = <S extends z.ZodType>(inner: S) => inner.nullish().transform((v) => v ?? undefined);
const flag = z
  .boolean()
  .nullish()
  .transform((v) => v ?? false);
const bag = z.record(z.string(), z.unknown());

/** Errors travel as a text or as `{code, message}`; people read the text. */
const errorText = z
  .union([z.string(), z.object({ message: z.string() }), z.object({ error: z.string() })])
  .nullish()
  .transform((v) => {
    if (v === null || v === undefined || v === '') return undefined;
    if (typeof v === 'string') return v;
    return 'message' in v ? v.message : v.error;
  });

export const worldSummary = z.object({
  id: z.string(),
  name: text,
  summary: text,
  tags: list(z.string()),
  locales: list(z.string()),
  defaultLocale: text,
  accentColor: maybe(z.string()),
  version: maybe(z.coerce.string()),
});

export const world = worldSummary.extend({ lore: text, greeting: text });

const setupRuntime = z.object({
  status: z.enum(['pending', 'done', 'blocked']),
  generation: maybe(z.number()),
  attempts: maybe(z.number()),
  lastError: errorText,
  resolution: maybe(z.string()),
  reason: maybe(z.string()),
});

export const session = z.object({
  id: z.string(),
  worldId: text,
  worldName: text,
  incarnation: text,
  status: z.enum(['active', 'paused', 'ended']),
  phase: z.enum(['setup', 'playing']),
  completedPlayerTurns: z.number().catch(0),
  setupRuntimes: z
    .record(z.string(), setupRuntime)
    .nullish()
    .transform((v) => v ?? {}),
  locale: text,
  activePlugins: list(z.string()),
  createdAt: text,
  updatedAt: text,
  title: text,
});

const interactionRef = z.object({
  turnId: text,
  interactionId: z.string(),
  type: z.enum(['form', 'choice', 'confirmation']),
});

const option = z.union([
  z.string().transform((value) => ({ value, label: value })),
  z.object({ value: z.coerce.string(), label: maybe(z.string()) }).transform((o) => ({
    value: o.value,
    label: o.label ?? o.value,
  })),
]);

const field = z
  .object({
    type: z.enum(['text', 'textarea', 'select', 'checkbox', 'number']).catch('text'),
    name: z.string(),
    label: text,
    placeholder: maybe(z.string()),
    options: maybe(z.array(option)),
    required: maybe(z.boolean()),
    defaultValue: maybe(z.union([z.string(), z.number(), z.boolean()])),
    min: maybe(z.number()),
    max: maybe(z.number()),
    step: maybe(z.number()),
  })
  .transform((f) => ({ ...f, label: f.label === '' ? f.name : f.label }));

const choice = z
  .object({
    id: z.string(),
    label: text,
    description: maybe(z.string()),
    category: maybe(z.string()),
  })
  .transform((c) => ({ ...c, label: c.label === '' ? c.id : c.label }));

const interactionBlock = z.object({
  title: maybe(z.string()),
  prompt: maybe(z.string()),
  message: maybe(z.string()),
  notice: maybe(z.string()),
  fields: maybe(z.array(field)),
  choices: maybe(z.array(choice)),
  submitLabel: maybe(z.string()),
  confirmLabel: maybe(z.string()),
  cancelLabel: maybe(z.string()),
  narrativeTemplate: maybe(z.string()),
  actionKind: maybe(z.string()),
});

const interaction = interactionRef.extend({
  status: z.enum(['open', 'answered', 'void']).catch('open'),
  block: interactionBlock,
  values: maybe(bag),
});

const uiBlock = z.object({
  parts: list(
    z.object({
      id: text,
      type: text,
      status: z.enum(['pending', 'streaming', 'success', 'error', 'paused']).catch('success'),
      content: z.unknown(),
    }),
  ),
  layout: maybe(z.string()),
});

const segment = z.object({
  kind: z.enum(['narration', 'dialogue', 'action']).catch('narration'),
  text: text,
  speaker: maybe(z.string()),
  characterId: maybe(z.string()),
});

export const message = z.object({
  id: z.string(),
  turnId: text,
  seq: z.number(),
  role: z.enum(['user', 'assistant']),
  source: z.enum(['player', 'player-interjection', 'story', 'runtime']).catch('runtime'),
  runtimeId: maybe(z.string()),
  pluginId: maybe(z.string()),
  text: text,
  segments: maybe(z.array(segment)),
  truncated: maybe(z.boolean()),
  metadata: maybe(
    z.object({
      actions: z.array(
        z.object({
          kind: text,
          text: text,
          characterId: maybe(z.string()),
          seatId: maybe(z.string()),
          interaction: maybe(interactionRef),
        }),
      ),
    }),
  ),
  characterName: maybe(z.string()),
  interactions: maybe(z.array(interaction)),
  blocks: maybe(z.array(uiBlock)),
  createdAt: text,
});

const character = z.object({
  id: z.string(),
  name: text,
  aliases: maybe(z.array(z.string())),
  type: text,
  description: maybe(z.string()),
  fields: maybe(bag),
  version: maybe(z.number()),
});

const seat = z.object({
  id: z.string(),
  name: maybe(z.string()),
  role: maybe(z.string()),
  control: maybe(z.string()),
  characterIds: maybe(z.array(z.string())),
  currentCharacterId: maybe(z.string()),
  primary: maybe(z.boolean()),
});

const retry = z.object({
  type: z.enum(['start_session', 'submit_actions', 'retry_turn']),
  payload: z.unknown().transform((v) => v ?? {}),
});

const keptText = z.object({ text: z.string() });
const keptLine = z.object({ text: z.string(), message: maybe(message) });

const execution = z.object({
  state: z.enum(['idle', 'running', 'completed', 'failed', 'interrupted']),
  turnId: maybe(z.string()),
  requestId: maybe(z.string()),
  origin: maybe(z.string()),
  startedAt: maybe(z.string()),
  error: errorText,
  abortReason: maybe(z.string()),
  retry: maybe(retry),
  input: maybe(keptLine),
  draft: maybe(keptText),
});

const running = z.object({
  executionId: z.string(),
  n: z.number(),
  requestId: maybe(z.string()),
  text: text,
  textRuntimeId: maybe(z.string()),
  steps: list(
    z.object({
      runtimeId: z.string(),
      pluginId: text,
      label: text,
      stage: text,
      status: z.enum(['running', 'success', 'failed', 'skipped', 'suspended']).catch('running'),
    }),
  ),
});

const tree = z.object({
  head: text,
  turns: list(
    z.object({
      turnId: z.string(),
      before: maybe(z.string()),
      name: maybe(z.string()),
      onPath: flag,
      takes: list(z.string()),
    }),
  ),
});

const suspension = z.object({
  id: z.string(),
  turnId: text,
  runtimeId: text,
  pluginId: text,
  reason: text,
  resumeSchema: z.unknown(),
});

const gathering = z.object({
  submissions: list(z.object({ seatId: z.string(), requestId: text })),
  waitingFor: list(z.string()),
});

const pluginData = z.record(z.string(), z.record(z.string(), bag));

export const view = z.object({
  seq: z.number(),
  lastId: text,
  incarnation: text,
  session,
  world: worldSummary,
  messages: list(message),
  messagesCursor: z
    .string()
    .nullish()
    .transform((v) => (v === undefined || v === '' ? null : v)),
  characters: list(character),
  characterSchema: z.unknown(),
  seats: list(seat),
  pluginData: pluginData.nullish().transform((v) => v ?? {}),
  tree: tree.nullish().transform((v) => v ?? { head: '', turns: [] }),
  suspensions: list(suspension),
  gathering: maybe(gathering),
  pausedPlugins: list(z.string()),
  execution: execution.nullish().transform((v) => v ?? { state: 'idle' as const }),
  running: maybe(running),
  offline: flag,
});

const pluginSpec = z.object({ pluginId: z.string(), spec: z.unknown() });

export const uiSpecs = z.object({
  right: list(pluginSpec),
  message: list(pluginSpec),
  left: list(pluginSpec),
});

export const health = z
  .object({
    status: text,
    version: text,
    model: z
      .object({ offline: flag })
      .nullish()
      .transform((v) => v ?? { offline: false }),
  })
  .transform((h) => ({ status: h.status, version: h.version, offline: h.model.offline }));

export const messagePage = z.object({
  items: list(message),
  nextCursor: z
    .string()
    .nullish()
    .transform((v) => (v === undefined || v === '' ? null : v)),
});

export const worldList = z.object({ items: list(worldSummary) });
export const sessionList = z.object({ items: list(session) });

// Events

const envelope = {
  turnId: maybe(z.string()),
  requestId: maybe(z.string()),
  timestamp: maybe(z.string()),
};

const event = <T extends string, P extends z.ZodType>(type: T, payload: P) =>
  z.object({ type: z.literal(type), ...envelope, payload });

const committed = z.discriminatedUnion('type', [
  event('actions.accepted', z.object({ type: text, message: maybe(message) })),
  event(
    'interaction.submitted',
    z.object({
      results: list(
        z.object({
          turnId: text,
          interactionId: z.string(),
          values: maybe(bag),
          filledNarrative: maybe(z.string()),
        }),
      ),
    }),
  ),
  event(
    'execution.started',
    z.object({
      executionId: z.string(),
      origin: maybe(z.string()),
      logicalTurn: maybe(z.number()),
      phase: maybe(z.string()),
      requestId: maybe(z.string()),
    }),
  ),
  event('tree.changed', tree),
  event('branch.named', z.object({ turnId: z.string(), name: text })),
  event('message.revised', z.object({ message })),
  event('narrative.completed', z.object({ message })),
  event('message.appended', z.object({ message })),
  event('interaction.requested', z.object({ messageId: z.string(), interaction, message: maybe(message) })),
  event('ui.rendered', z.object({ messageId: z.string(), block: uiBlock })),
  event(
    'plugin-data.changed',
    z.object({
      pluginId: z.string(),
      changes: list(
        z.object({
          namespace: z.string(),
          key: z.string(),
          value: z.unknown(),
          operation: z.enum(['set', 'delete']),
        }),
      ),
    }),
  ),
  event('character.upserted', z.object({ character })),
  event('character-schema.changed', z.object({ schema: z.unknown() })),
  event('turn.suspended', z.object({ suspension })),
  event('turn.resumed', z.object({ suspensionId: z.string() })),
  event('suspension.closed', z.object({ suspensionId: z.string() })),
  event('gathering.changed', z.object({ gathering: gathering.nullish().transform((v) => v ?? null) })),
  event('event.emitted', z.object({ topic: text, data: z.unknown(), pluginId: maybe(z.string()) })),
  event('session.changed', z.object({ session })),
  event(
    'turn.completed',
    z.object({
      executionId: text,
      committed: flag,
      outcomes: list(z.object({ runtimeId: text, status: text, error: errorText })),
    }),
  ),
  event(
    'execution.completed',
    z.object({
      committed: z.boolean(),
      error: errorText,
      abortReason: maybe(z.string()),
      draft: maybe(keptText),
      retry: maybe(retry),
      input: maybe(keptLine),
    }),
  ),
]);

const committedTypes: ReadonlySet<unknown> = new Set(committed.options.map((o) => o.shape.type.value));

const transientEnd = z.object({
  runtimeId: z.string(),
  pluginId: text,
  status: maybe(z.string()),
  error: errorText,
  skipReason: maybe(z.string()),
});
const toolCall = z.object({ runtimeId: text, toolName: text });

const transient = z.discriminatedUnion('type', [
  event(
    'runtime.started',
    z.object({
      runtimeId: z.string(),
      pluginId: text,
      runId: maybe(z.string()),
      label: text,
      stage: text,
    }),
  ),
  event('runtime.completed', transientEnd),
  event('runtime.failed', transientEnd),
  event('runtime.skipped', transientEnd),
  event('runtime.suspended', transientEnd),
  event('llm.waiting', z.object({ runtimeId: text, waitMs: z.number() })),
  event('plugin.paused', z.object({ pluginId: z.string() })),
  event('plugin.resumed', z.object({ pluginId: z.string() })),
  event(
    'narrative.delta',
    z.object({ runtimeId: text, pluginId: text, delta: text, reset: maybe(z.boolean()) }),
  ),
  event('tool.calling', toolCall),
  event('tool.completed', toolCall),
  event('tool.failed', toolCall),
  event(
    'turn.settling',
    z.object({ jobs: list(z.object({ jobId: text, runtimeId: text, pluginId: text })) }),
  ),
]);

const transientTypes: ReadonlySet<unknown> = new Set(transient.options.map((o) => o.shape.type.value));

const anyEvent = z.looseObject({ type: z.string() });

const frameOfAny = z.object({
  type: z.literal('frame').catch('frame'),
  seq: z.number(),
  lastId: text,
  events: list(anyEvent),
});

/** A frame whose events of unknown type are left out. Throws when one of a known type does not fit. */
function readFrame(raw: unknown): t.Frame {
  const frame = frameOfAny.parse(raw);
  return {
    type: 'frame',
    seq: frame.seq,
    lastId: frame.lastId,
    events: frame.events.filter((e) => committedTypes.has(e.type)).map((e) => committed.parse(e)),
  };
}

const welcome = z.object({
  type: z.literal('welcome'),
  seq: z.number(),
  lastId: text,
  incarnation: text,
  resumed: flag,
  view: maybe(view),
  running: maybe(running),
});

const ack = z.union([
  z.object({
    type: z.literal('ack'),
    requestId: z.string(),
    status: z.literal('queued'),
    n: z.number().catch(0),
  }),
  z.object({
    type: z.literal('ack'),
    requestId: z.string(),
    status: z.literal('accepted'),
    version: z.number().catch(0),
    executionId: maybe(z.string()),
    repeat: maybe(z.boolean()),
  }),
]);

const issues = z
  .object({ issues: list(z.object({ field: maybe(z.string()), message: text })) })
  .nullish()
  .catch(undefined)
  .transform((d) => d?.issues ?? []);

const refusal = z.object({
  type: z.literal('error'),
  requestId: maybe(z.string()),
  code: text,
  error: text,
  details: issues,
  frames: list(z.unknown()),
});

const transientFrame = z.object({
  type: z.literal('transient'),
  executionId: z.string(),
  n: z.number(),
  event: anyEvent,
});

/**
 * Reads one text frame of the socket.
 * Returns undefined for a message of a type this client does not know, and for progress it cannot read.
 * Throws when any other message does not fit: what it carried is lost, so the caller must start afresh.
 */
export function readServerMessage(data: string): t.ServerMessage | undefined {
  const raw = z.looseObject({ type: z.string() }).parse(JSON.parse(data));
  switch (raw.type) {
    case 'welcome':
      return welcome.parse(raw);
    case 'frame':
      return readFrame(raw);
    case 'transient': {
      const outer = transientFrame.parse(raw);
      // Progress is not worth a fresh start: what does not fit is left out, the committed text comes anyway.
      const known = transientTypes.has(outer.event.type) ? transient.safeParse(outer.event) : undefined;
      return known?.success ? { ...outer, event: known.data } : undefined;
    }
    case 'ack':
      return ack.parse(raw);
    case 'error': {
      const { details, frames, ...rest } = refusal.parse(raw);
      return { ...rest, issues: details, frames: frames.map(readFrame) };
    }
    case 'system.reset':
      return { type: 'system.reset', reason: text.parse(raw['reason']) };
    case 'pong':
      return { type: 'pong' };
    default:
      return undefined;
  }
}

/** The body of an HTTP error: `{error, code, details?}`. */
export const httpError = z.object({ error: text, code: text, details: issues });

// The schemas above and the written types must not drift apart: a schema that no longer yields its type
// does not satisfy the constraint, and the compiler says so here.
type Yields<Type, Schema extends z.ZodType<Type>> = [Type, Schema];
export type Checked = [
  Yields<t.World, typeof world>,
  Yields<t.Session, typeof session>,
  Yields<t.Message, typeof message>,
  Yields<t.View, typeof view>,
  Yields<t.Welcome, typeof welcome>,
  Yields<t.CommittedEvent, typeof committed>,
  Yields<t.TransientEvent, typeof transient>,
  Yields<t.Ack, typeof ack>,
];

/** An answer whose content does not matter. */
export const anything = z.unknown();
