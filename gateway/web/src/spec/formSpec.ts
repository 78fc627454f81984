import type { Spec } from '@json-render/core';
import type { FormField, Interaction } from '../protocol/types';

/**
 * A form of the story as a specification: the same components that plugins draw with. Fields are addressed by
 * their number, so that a name with a slash, or `__proto__`, is only a name.
 */
export function formSpec(interaction: Interaction, words: { submit: string }): Spec {
  const { block } = interaction;
  const fields = block.fields ?? [];
  const elements: Spec['elements'] = {
    form: {
      type: 'Form',
      props: {
        title: block.title ?? block.prompt,
        notice: block.notice,
        fault: { $state: '/fault' },
        busy: { $state: '/busy' },
      },
      on: { submit: { action: 'answer' } },
      children: [...fields.map((_, n) => key(n)), 'submit'],
    },
    submit: {
      type: 'SubmitButton',
      props: { label: block.submitLabel ?? words.submit, disabled: { $state: '/busy' } },
      children: [],
    },
  };
  fields.forEach((field, n) => {
    elements[key(n)] = {
      type: 'FormField',
      props: {
        fieldType: field.type,
        name: field.name,
        label: field.label,
        placeholder: field.placeholder,
        options: field.options,
        required: field.required,
        min: field.min,
        max: field.max,
        step: field.step,
        disabled: { $state: '/busy' },
        value: { $bindState: `/values/${key(n)}` },
        error: { $bindState: `/errors/${key(n)}` },
      },
      children: [],
    };
  });
  return { root: 'form', elements };
}

/** A choice, or a yes and a no, as a specification. */
export function choiceSpec(interaction: Interaction, words: { yes: string; no: string }): Spec {
  const { block } = interaction;
  const options =
    interaction.type === 'choice'
      ? (block.choices ?? []).map((c) => ({
          label: c.label,
          description: c.description,
          params: { selectedId: c.id },
        }))
      : [
          { label: block.confirmLabel ?? words.yes, description: undefined, params: { confirmed: true } },
          { label: block.cancelLabel ?? words.no, description: undefined, params: { confirmed: false } },
        ];
  const elements: Spec['elements'] = {
    group: {
      type: 'ChoiceGroup',
      props: { prompt: block.prompt ?? block.title ?? block.message ?? '' },
      children: options.map((_, n) => key(n)),
    },
  };
  options.forEach((o, n) => {
    elements[key(n)] = {
      type: 'ChoiceButton',
      props: { label: o.label, description: o.description, disabled: { $state: '/busy' } },
      on: { press: { action: 'answer', params: o.params } },
      children: [],
    };
  });
  return { root: 'group', elements };
}

const key = (n: number) => `f${String(n)}`;

export type FieldValue = string | boolean;

/** What the fields start with: earlier answers before defaults. */
export function initialValues(interaction: Interaction): Record<string, FieldValue> {
  return Object.fromEntries(
    (interaction.block.fields ?? []).map((field, n) => [key(n), initialValue(interaction, field)]),
  );
}

function initialValue(interaction: Interaction, field: FormField): FieldValue {
  const values = interaction.values ?? {};
  const given = Object.hasOwn(values, field.name) ? values[field.name] : field.defaultValue;
  if (field.type === 'checkbox') return given === true || given === 'true';
  const text = typeof given === 'string' || typeof given === 'number' ? String(given) : '';
  if (field.type === 'select' && !(field.options ?? []).some((o) => o.value === text)) return '';
  return text;
}

export type FieldFault =
  | { kind: 'required' | 'number' }
  | { kind: 'min' | 'max'; limit: number }
  | { kind: 'told'; message: string };

/** Faults by field key that are certain before sending. The server checks again, and more. */
export function faults(
  interaction: Interaction,
  values: Record<string, FieldValue>,
): Record<string, FieldFault> {
  const found: Record<string, FieldFault> = {};
  (interaction.block.fields ?? []).forEach((field, n) => {
    const fault = faultOf(field, values[key(n)] ?? '');
    if (fault !== undefined) found[key(n)] = fault;
  });
  return found;
}

function faultOf(field: FormField, value: FieldValue): FieldFault | undefined {
  if (typeof value === 'boolean') return undefined;
  const text = value.trim();
  if (text === '') return field.required ? { kind: 'required' } : undefined;
  if (field.type !== 'number') return undefined;
  const number = Number(text);
  if (!Number.isFinite(number)) return { kind: 'number' };
  if (field.min !== undefined && number < field.min) return { kind: 'min', limit: field.min };
  if (field.max !== undefined && number > field.max) return { kind: 'max', limit: field.max };
  return undefined;
}

/** Faults the server named, by field key; `general` are those about the whole or about no field we have. */
export function toldFaults(
  interaction: Interaction,
  issues: { field?: string; message: string }[],
): { byField: Record<string, FieldFault>; general: string[] } {
  const byField: Record<string, FieldFault> = {};
  const general: string[] = [];
  for (const issue of issues) {
    const n = (interaction.block.fields ?? []).findIndex((f) => f.name === issue.field);
    if (n < 0) general.push(issue.message);
    else byField[key(n)] = { kind: 'told', message: issue.message };
  }
  return { byField, general };
}

/** The answer as the server wants it: by field name, numbers as numbers, empty optional fields left out. */
export function answerFields(
  interaction: Interaction,
  values: Record<string, FieldValue>,
): Record<string, unknown> {
  const entries = (interaction.block.fields ?? []).flatMap((field, n): [string, unknown][] => {
    const value = values[key(n)] ?? '';
    if (typeof value === 'boolean') return [[field.name, value]];
    if (value.trim() === '') return [];
    return [[field.name, field.type === 'number' ? Number(value) : value]];
  });
  return Object.fromEntries(entries);
}
