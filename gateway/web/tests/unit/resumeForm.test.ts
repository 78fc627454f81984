import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Suspension } from '../../src/protocol/types';
import { answerFields, initialValues } from '../../src/spec/formSpec';
import { resumeQuestion } from '../../src/spec/resumeForm';

const asks = (resumeSchema: unknown): ReturnType<typeof resumeQuestion> => {
  const suspension: Suspension = {
    id: 's1',
    turnId: 't1',
    runtimeId: 'guide/ask',
    pluginId: 'guide',
    reason: '你要跟谁走？',
    resumeSchema,
  };
  return resumeQuestion(suspension, { answer: 'Your answer' });
};

describe('the question of a run that waits', () => {
  it('one of a few is answered with a button', () => {
    const { interaction, dataOf } = asks({
      type: 'object',
      properties: { who: { enum: ['龙胆', 'Mara', 7] } },
      required: ['who'],
    });
    expect(interaction).toMatchObject({
      interactionId: 's1',
      type: 'choice',
      block: { prompt: '你要跟谁走？', choices: [{ label: '龙胆' }, { label: 'Mara' }, { label: '7' }] },
    });
    expect(dataOf({ selectedId: '0' })).toEqual({ who: '龙胆' });
    expect(dataOf({ selectedId: '2' })).toEqual({ who: 7 });
  });

  it('a yes and a no stand for a boolean, in an object or alone', () => {
    const inside = asks({ type: 'object', properties: { go: { type: 'boolean' } } });
    expect(inside.interaction.type).toBe('confirmation');
    expect(inside.dataOf({ confirmed: false })).toEqual({ go: false });
    expect(asks({ type: 'boolean' }).dataOf({ confirmed: true })).toBe(true);
  });

  it('everything else is a form, each property in the input that fits it', () => {
    const { interaction, dataOf } = asks({
      type: 'object',
      required: ['name', 'age', 'path'],
      properties: {
        name: { type: 'string', title: '名字', default: '陆青云' },
        age: { type: 'integer', minimum: 1, maximum: 120 },
        path: { enum: ['a', 'b', 'c', 'd', 'e', 'f', 'g'] },
        note: { type: 'string', maxLength: 2000, description: 'Anything else?' },
        alone: { type: 'boolean' },
        tags: { type: 'array', items: { type: 'string' } },
        extra: { type: 'object' },
      },
    });
    expect(interaction.type).toBe('form');
    expect(interaction.block.fields).toMatchObject([
      { name: 'name', type: 'text', label: '名字', required: true, defaultValue: '陆青云' },
      { name: 'age', type: 'number', min: 1, max: 120, step: 1, required: true },
      { name: 'path', type: 'select', required: true },
      { name: 'note', type: 'textarea', label: 'Anything else?' },
      { name: 'alone', type: 'checkbox' },
      { name: 'tags', type: 'textarea' },
      { name: 'extra', type: 'textarea', placeholder: 'JSON' },
    ]);
    const typed = {
      name: '陆青云',
      age: 17,
      path: 'b',
      alone: true,
      tags: ' mist\n\nlamp ',
      extra: '{"a":[1]}',
    };
    expect(dataOf(typed)).toEqual({ ...typed, tags: ['mist', 'lamp'], extra: { a: [1] } });
    expect(() => dataOf({ extra: '{' })).toThrow(SyntaxError);
  });

  it.each([
    [{ type: 'string' }, 'north', 'north'],
    [{ type: 'number' }, 3, 3],
    [null, 'anything', 'anything'],
    [{}, 'anything', 'anything'],
    [{ anyOf: [{ type: 'string' }] }, 'either', 'either'],
  ])('a schema that is no object is one field: %j', (schema, typed, data) => {
    const { interaction, dataOf } = asks(schema);
    expect(interaction.block.fields).toHaveLength(1);
    expect(dataOf({ answer: typed })).toBe(data);
  });

  it('without a schema the answer may be left empty', () => {
    const { interaction, dataOf } = asks(null);
    expect(interaction.block.fields?.[0]?.required).toBeUndefined();
    expect(dataOf({})).toBeNull();
  });

  it('BL-06: odd names are fields, whatever they are', () => {
    const { interaction, dataOf } = asks(
      JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"},"a/b":{"type":"string"}}}'),
    );
    expect(interaction.block.fields?.map((f) => f.name)).toEqual(['__proto__', 'a/b']);
    const data = dataOf(answerFields(interaction, { f0: 'x', f1: 'y' })) as object;
    expect(Object.keys(data)).toEqual(['__proto__', 'a/b']);
    expect(Object.getPrototypeOf(data)).toBe(Object.prototype);
  });

  it('any value for a schema makes a question that can be drawn', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue()), (schema, properties) => {
        for (const s of [schema, { type: 'object', properties }, { enum: schema }]) {
          const { interaction } = asks(s);
          expect(Object.values(initialValues(interaction)).every((v) => typeof v !== 'undefined')).toBe(true);
        }
      }),
    );
  });
});
