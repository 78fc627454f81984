import '../protocol/zod';
import { z } from 'zod';

/**
 * The components a plugin may draw with, and their properties. A specification is foreign input: a component that
 * is not here is refused, a property of a wrong kind becomes text, a number or its default, and nothing here takes
 * markup, a style, a class, an address or a colour. Colours come as names of tones, and the theme decides.
 *
 * CATALOGUE.md beside package.json says the same for authors; a test keeps the two equal.
 */

const text = z
  .union([z.string(), z.number(), z.boolean()])
  .nullish()
  .catch(undefined)
  .transform((v) => (v === null || v === undefined ? '' : String(v)));
const optionalText = text.transform((v) => (v === '' ? undefined : v));
const number = z.coerce.number().catch(0);
const yes = z
  .boolean()
  .nullish()
  .catch(undefined)
  .transform((v) => v ?? false);
const oneOf = <const T extends readonly [string, ...string[]]>(values: T, fallback: T[number]) =>
  z.enum(values).catch(fallback as never);
const list = <S extends z.ZodType>(item: S) =>
  z
    .array(item)
    .nullish()
    .catch(undefined)
    .transform((v) => v ?? []);
const gap = oneOf(['none', 'xs', 'sm', 'md', 'lg'], 'sm');
const option = z.union([
  z.string().transform((value) => ({ value, label: value })),
  z
    .object({ value: text, label: text })
    .transform((o) => ({ value: o.value, label: o.label === '' ? o.value : o.label })),
]);
const tone = oneOf(['neutral', 'red', 'amber', 'blue', 'green', 'purple', 'cyan'], 'neutral');
const variant = oneOf(['default', 'primary', 'danger', 'ghost'], 'default');

export const props = {
  Stack: z.object({ gap }),
  Row: z.object({ gap, align: oneOf(['start', 'center', 'end', 'baseline'], 'center') }),
  Grid: z.object({ cols: z.coerce.number().int().min(1).max(4).catch(2), gap }),
  Separator: z.object({}),
  Heading: z.object({ content: text }),
  Text: z.object({
    content: text,
    variant: oneOf(['default', 'muted'], 'default'),
    weight: oneOf(['normal', 'bold'], 'normal'),
    size: oneOf(['xs', 'sm', 'md', 'lg'], 'md'),
    align: oneOf(['start', 'center', 'end'], 'start'),
  }),
  Prose: z.object({ content: text }),
  PlayerMessage: z.object({ content: text }),
  Source: z.object({ label: text }),
  Badge: z.object({ label: text, color: tone }),
  Icon: z.object({ name: text, size: oneOf(['xs', 'sm', 'md', 'lg'], 'md'), label: optionalText }),
  TagList: z.object({ tags: list(text) }),
  List: z.object({ items: list(text), ordered: yes }),
  KeyValue: z.object({ items: list(z.object({ label: text, value: text })) }),
  Card: z.object({ title: optionalText, variant: oneOf(['subtle', 'glow'], 'subtle') }),
  CardList: z.object({}),
  EntryCard: z.object({
    title: text,
    category: optionalText,
    content: text,
    tags: list(text),
    rarity: oneOf(['common', 'uncommon', 'rare', 'legendary'], 'common'),
    icon: optionalText,
    collapsible: yes,
    defaultExpanded: yes,
    isNew: yes,
  }),
  Section: z.object({ title: text, icon: optionalText, defaultOpen: z.boolean().catch(true) }),
  Accordion: z.object({}),
  StatBar: z.object({ label: text, value: number, max: z.coerce.number().positive().catch(100) }),
  Progress: z.object({ label: text, value: number, max: z.coerce.number().positive().catch(100) }),
  Alert: z.object({
    level: oneOf(['info', 'success', 'warning', 'error'], 'info'),
    title: optionalText,
    message: text,
  }),
  JsonView: z.object({ value: z.unknown() }),
  CharacterFieldsView: z.object({ type: optionalText, characterId: optionalText }),
  Suggestions: z.object({ items: list(z.union([z.string(), z.object({ text })])), label: optionalText }),
  Button: z.object({ label: text, variant, size: oneOf(['compact', 'md'], 'md'), disabled: yes }),
  Input: z.object({ label: text, placeholder: optionalText, value: text }),
  SearchInput: z.object({ label: text, placeholder: optionalText, value: text }),
  Textarea: z.object({ label: text, placeholder: optionalText, value: text }),
  Select: z.object({ label: text, options: list(option), value: text }),
  Switch: z.object({ label: text, checked: yes }),
  FilterBar: z.object({ options: list(option), value: text, label: optionalText }),
  Tabs: z.object({ tabs: list(option), value: text, label: optionalText }),

  Form: z.object({
    title: optionalText,
    notice: optionalText,
    fault: optionalText,
    busy: yes,
  }),
  FormHeader: z.object({ title: text, notice: optionalText }),
  FormField: z.object({
    fieldType: oneOf(['text', 'textarea', 'select', 'checkbox', 'number'], 'text'),
    name: text,
    label: text,
    placeholder: optionalText,
    options: list(option),
    required: yes,
    disabled: yes,
    min: z.number().optional().catch(undefined),
    max: z.number().optional().catch(undefined),
    step: z.number().optional().catch(undefined),
    value: z.union([z.string(), z.boolean()]).catch(''),
    error: optionalText,
  }),
  SubmitButton: z.object({ label: text, disabled: yes }),
  ChoiceGroup: z.object({ prompt: text }),
  ChoiceButton: z.object({ label: text, description: optionalText, disabled: yes }),
} as const;

export type ComponentName = keyof typeof props;
export type PropsOf<N extends ComponentName> = z.output<(typeof props)[N]>;

export function isComponent(name: unknown): name is ComponentName {
  return typeof name === 'string' && Object.hasOwn(props, name);
}

/** What a specification may ask the page to do. Everything else does nothing. */
export const actions = [
  // of this page
  'draftMessage',
  'sendMessage',
  'answer',
  // of json-render: change the panel's own state
  'setState',
  'pushState',
  'removeState',
] as const;
