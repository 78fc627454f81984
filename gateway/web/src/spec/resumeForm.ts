import type { FormField, Interaction, Suspension } from '../protocol/types';

/** What a run that waits asks for, as the page asks its questions, and the answer as the run wants it. */
export interface ResumeQuestion {
  interaction: Interaction;
  /** The value for `resume_suspension` of what was answered. Throws a SyntaxError for text that had to be JSON. */
  dataOf: (answer: Record<string, unknown>) => unknown;
}

type Schema = Record<string, unknown>;

/** At most so many answers stand as buttons; more are a list. */
const BUTTONS = 6;
/** A text that may be longer than this gets a box of several lines. */
const ONE_LINE = 200;
/** The field of a schema that is no object: its value is the whole answer. */
const WHOLE = 'answer';

/**
 * A JSON Schema as a question: one choice or one yes and no as buttons, everything else as a form. What has no
 * field of its own (lists of objects, alternatives) is written as JSON: rarely nice, never impossible.
 * The server checks the answer against the schema.
 */
export function resumeQuestion(suspension: Suspension, words: { answer: string }): ResumeQuestion {
  const { id, turnId, reason } = suspension;
  const root = asSchema(suspension.resumeSchema);
  const isObject = root['type'] === 'object' && asSchema(root['properties']) === root['properties'];
  const properties: [string, Schema][] = isObject
    ? Object.entries(root['properties'] as Schema).map(([name, s]) => [name, asSchema(s)])
    : [[WHOLE, root]];
  const required = new Set(isObject ? (root['required'] as unknown[] | undefined) : [WHOLE]);
  const whole = (fields: Record<string, unknown>) => (isObject ? fields : fields[WHOLE]);

  const [only, second] = properties;
  if (only !== undefined && second === undefined) {
    const [name, schema] = only;
    const ask = (type: 'choice' | 'confirmation', block: Interaction['block']): Interaction => ({
      turnId,
      interactionId: id,
      type,
      status: 'open',
      block: { prompt: reason, ...block },
    });
    const options = optionsOf(schema);
    if (options !== undefined && options.length <= BUTTONS && required.has(name)) {
      const choices = options.map((value, n) => ({ id: String(n), label: labelOf(value) }));
      return {
        interaction: ask('choice', { choices }),
        dataOf: (a) => whole({ [name]: options[Number(a['selectedId'])] }),
      };
    }
    if (schema['type'] === 'boolean') {
      return {
        interaction: ask('confirmation', {}),
        dataOf: (a) => whole({ [name]: a['confirmed'] === true }),
      };
    }
  }

  const fields = properties.map(([name, schema]): FormField => {
    const title = text(schema['title']) ?? text(schema['description']);
    const field: FormField = { ...inputFor(schema), name, label: title ?? (isObject ? name : words.answer) };
    // An answer to a question without a schema may be left empty.
    if (required.has(name) && field.type !== 'checkbox' && suspension.resumeSchema !== null)
      field.required = true;
    const given = schema['default'];
    if (typeof given === 'string' || typeof given === 'number' || typeof given === 'boolean') {
      field.defaultValue = given;
    }
    return field;
  });
  return {
    interaction: {
      turnId,
      interactionId: id,
      type: 'form',
      status: 'open',
      block: { title: reason, fields },
    },
    dataOf: (answer) => {
      const data = properties.flatMap(([name, schema]): [string, unknown][] =>
        Object.hasOwn(answer, name) ? [[name, valueOf(schema, answer[name])]] : [],
      );
      return whole(Object.fromEntries(data)) ?? null;
    },
  };
}

function inputFor(schema: Schema): Pick<FormField, 'type'> & Partial<FormField> {
  const options = optionsOf(schema);
  if (options !== undefined) {
    return { type: 'select', options: options.map((o) => ({ value: labelOf(o), label: labelOf(o) })) };
  }
  switch (schema['type']) {
    case 'boolean':
      return { type: 'checkbox' };
    case 'integer':
    case 'number': {
      const { minimum, maximum, multipleOf } = schema;
      return {
        type: 'number',
        ...(typeof minimum === 'number' && { min: minimum }),
        ...(typeof maximum === 'number' && { max: maximum }),
        ...(typeof multipleOf === 'number'
          ? { step: multipleOf }
          : schema['type'] === 'integer' && { step: 1 }),
      };
    }
    case 'string':
    case undefined:
      return { type: Number(schema['maxLength'] ?? 0) > ONE_LINE ? 'textarea' : 'text' };
    default:
      return { type: 'textarea', placeholder: isTexts(schema) ? '' : 'JSON' };
  }
}

/** What was typed, as the schema wants it. */
function valueOf(schema: Schema, typed: unknown): unknown {
  const options = optionsOf(schema);
  if (options !== undefined) return options.find((o) => labelOf(o) === typed);
  if (typeof typed !== 'string') return typed;
  if (['string', 'number', 'integer', 'boolean', undefined].includes(schema['type'] as string)) return typed;
  if (isTexts(schema)) {
    return typed
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  }
  return JSON.parse(typed) as unknown;
}

/** A list of texts is written one a line. */
function isTexts(schema: Schema): boolean {
  return schema['type'] === 'array' && asSchema(schema['items'])['type'] === 'string';
}

function optionsOf(schema: Schema): unknown[] | undefined {
  if (Array.isArray(schema['enum'])) return schema['enum'] as unknown[];
  return Object.hasOwn(schema, 'const') ? [schema['const']] : undefined;
}

const labelOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

function asSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}
