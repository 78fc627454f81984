import { createContext, useContext } from 'react';
import type { Character } from '../protocol/types';

/** What a specification may see of the session, and do. */
export interface SpecHost {
  characters: Character[];
  characterSchema: unknown;
  /** Puts words into the input; words that already stand there are sent. */
  draftMessage: (text: string) => void;
  sendMessage: (text: string) => void;
}

export const HostContext = createContext<SpecHost>({
  characters: [],
  characterSchema: undefined,
  draftMessage: () => undefined,
  sendMessage: () => undefined,
});

/** What a panel says when a component has nothing to show. */
export const EmptyContext = createContext<string | undefined>(undefined);

export function useHost(): SpecHost {
  return useContext(HostContext);
}

interface Attribute {
  id: string;
  name: string;
}

/** Fields of a character in the order and with the names of the schema; unknown ones last, under their own name. */
export function characterFields(character: Character, schema: unknown): { label: string; value: string }[] {
  const fields = character.fields ?? {};
  const attributes = attributesOf(schema);
  const order = [
    ...attributes.filter((a) => Object.hasOwn(fields, a.id)),
    ...Object.keys(fields)
      .filter((id) => !attributes.some((a) => a.id === id))
      .map((id) => ({ id, name: id })),
  ];
  return order.flatMap(({ id, name }) => {
    const value = fieldText(fields[id]);
    return value === '' ? [] : [{ label: name, value }];
  });
}

function attributesOf(schema: unknown): Attribute[] {
  const list = (schema as { attributes?: unknown } | null | undefined)?.attributes;
  if (!Array.isArray(list)) return [];
  return list.flatMap((a: unknown) => {
    const { id, name } = (a ?? {}) as { id?: unknown; name?: unknown };
    return typeof id === 'string' ? [{ id, name: typeof name === 'string' && name !== '' ? name : id }] : [];
  });
}

function fieldText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(fieldText).filter(Boolean).join(', ');
  if (typeof value === 'object') {
    return Object.entries(value)
      .map(([k, v]) => `${k}: ${fieldText(v)}`)
      .join(', ');
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}
