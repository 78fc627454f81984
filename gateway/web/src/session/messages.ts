import type { Interaction, InteractionRef, Message, UIBlock } from '../protocol/types';

/**
 * Rules for the list of messages: sorted by `seq`, each id once, never mutated.
 * Every function returns the same array when nothing changed, so that nothing redraws.
 */

/** Puts a message in its place, or replaces the one with its id. Keeps attachments the new copy lacks. */
export function upsert(messages: Message[], message: Message): Message[] {
  const known = messages.find((m) => m.id === message.id);
  if (known === undefined) return insert(messages, message);
  const merged: Message = { ...message };
  if (!merged.interactions?.length && known.interactions) merged.interactions = known.interactions;
  if (!merged.blocks?.length && known.blocks) merged.blocks = known.blocks;
  if (merged.seq === known.seq) return messages.map((m) => (m.id === message.id ? merged : m));
  return insert(
    messages.filter((m) => m.id !== message.id),
    merged,
  );
}

function insert(messages: Message[], message: Message): Message[] {
  let at = messages.length;
  while (at > 0 && (messages[at - 1] as Message).seq > message.seq) at--;
  return [...messages.slice(0, at), message, ...messages.slice(at)];
}

/** Puts a page of older messages in front; those that are here already stay as they are. */
export function prepend(messages: Message[], older: Message[]): Message[] {
  const here = new Set(messages.map((m) => m.id));
  const fresh = older.filter((m) => !here.has(m.id));
  return fresh.length === 0 ? messages : [...fresh, ...messages];
}

function changeInteractions(messages: Message[], change: (i: Interaction) => Interaction): Message[] {
  const next = messages.map((m) => {
    const interactions = m.interactions?.map(change);
    return interactions?.some((i, n) => i !== m.interactions?.[n]) ? { ...m, interactions } : m;
  });
  return next.some((m, n) => m !== messages[n]) ? next : messages;
}

/** Marks an open question as answered, with the values that were given. */
export function answer(
  messages: Message[],
  turnId: string,
  interactionId: string,
  values: Record<string, unknown> | undefined,
): Message[] {
  return changeInteractions(messages, (i) => {
    if (i.interactionId !== interactionId || i.turnId !== turnId || i.status === 'void') return i;
    const answered: Interaction = { ...i, status: 'answered' };
    if (values !== undefined) answered.values = values;
    return answered;
  });
}

/** A question that is asked again makes the earlier ones with its id void. */
export function supersede(messages: Message[], interaction: Interaction): Message[] {
  return changeInteractions(messages, (i) =>
    i.interactionId === interaction.interactionId && i.turnId !== interaction.turnId && i.status === 'open'
      ? { ...i, status: 'void' }
      : i,
  );
}

/** Hangs a question on its message, making room for it when the message is not known. */
export function attachInteraction(
  messages: Message[],
  messageId: string,
  seq: number,
  interaction: Interaction,
): Message[] {
  return withMessage(messages, messageId, interaction.turnId, seq, (m) => ({
    ...m,
    interactions: [...(m.interactions ?? []).filter((i) => !sameInteraction(i, interaction)), interaction],
  }));
}

/** Hangs a block on its message; the same block (by the ids of its parts) is replaced. */
export function attachBlock(
  messages: Message[],
  messageId: string,
  turnId: string,
  seq: number,
  block: UIBlock,
): Message[] {
  const identity = partIds(block);
  return withMessage(messages, messageId, turnId, seq, (m) => {
    const blocks = m.blocks ?? [];
    const at = blocks.findIndex((b) => partIds(b) === identity);
    return { ...m, blocks: at < 0 ? [...blocks, block] : blocks.map((b, n) => (n === at ? block : b)) };
  });
}

function partIds(block: UIBlock): string {
  return JSON.stringify(block.parts.map((p) => p.id));
}

function sameInteraction(a: InteractionRef, b: InteractionRef): boolean {
  return a.interactionId === b.interactionId && a.turnId === b.turnId;
}

function withMessage(
  messages: Message[],
  id: string,
  turnId: string,
  seq: number,
  change: (m: Message) => Message,
): Message[] {
  if (messages.some((m) => m.id === id)) return messages.map((m) => (m.id === id ? change(m) : m));
  const holder: Message = {
    id,
    turnId,
    seq,
    role: 'assistant',
    source: 'runtime',
    text: '',
    createdAt: '',
  };
  return insert(messages, change(holder));
}

/** The questions that wait for the player, in story order. */
export function openInteractions(messages: Message[]): Interaction[] {
  return messages.flatMap((m) => (m.interactions ?? []).filter((i) => i.status === 'open'));
}
