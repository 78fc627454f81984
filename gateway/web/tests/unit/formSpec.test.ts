import { describe, expect, it } from 'vitest';
import type { FormField, Interaction } from '../../src/protocol/types';
import {
  answerFields,
  choiceSpec,
  faults,
  formSpec,
  initialValues,
  toldFaults,
} from '../../src/spec/formSpec';
import { form } from './build';

const withFields = (fields: FormField[], more: Partial<Interaction> = {}): Interaction =>
  form('f', 't1', { block: { title: 'T', fields }, ...more });

const field = (name: string, more: Partial<FormField> = {}): FormField => ({
  type: 'text',
  name,
  label: name,
  ...more,
});

describe('a form', () => {
  it('is drawn from components of the catalogue, its fields by number', () => {
    const spec = formSpec(withFields([field('a/b', { required: true }), field('__proto__')]), {
      submit: 'Go',
    });
    expect(spec.elements['form']).toMatchObject({ type: 'Form', children: ['f0', 'f1', 'submit'] });
    expect(spec.elements['f0']).toMatchObject({
      type: 'FormField',
      props: {
        name: 'a/b',
        required: true,
        value: { $bindState: '/values/f0' },
        error: { $bindState: '/errors/f0' },
      },
    });
    expect(spec.elements['submit']).toMatchObject({ props: { label: 'Go' } });
  });

  it('starts with earlier answers before defaults, each in the shape of its field', () => {
    const options = [{ value: 'x', label: 'X' }];
    const fields = [
      field('name', { defaultValue: 'Aya' }),
      field('age', { type: 'number', defaultValue: 7 }),
      field('ok', { type: 'checkbox', defaultValue: true }),
      field('pick', { type: 'select', options, defaultValue: 'x' }),
      field('lost', { type: 'select', options, defaultValue: 'gone' }),
      field('none'),
    ];
    expect(initialValues(withFields(fields, { values: { name: '陆青云', age: 0 } }))).toEqual({
      f0: '陆青云',
      f1: '0',
      f2: true,
      f3: 'x',
      f4: '',
      f5: '',
    });
  });

  it('knows faults that are certain before sending', () => {
    const fields = [
      field('name', { required: true }),
      field('age', { type: 'number', min: 1, max: 9 }),
      field('free', { type: 'number' }),
    ];
    const check = (values: Record<string, string>) => faults(withFields(fields), values);
    expect(check({ f0: ' ', f1: '', f2: '' })).toEqual({ f0: { kind: 'required' } });
    expect(check({ f0: 'a', f1: '0', f2: 'x' })).toEqual({
      f1: { kind: 'min', limit: 1 },
      f2: { kind: 'number' },
    });
    expect(check({ f0: 'a', f1: '10', f2: '1e400' })).toEqual({
      f1: { kind: 'max', limit: 9 },
      f2: { kind: 'number' },
    });
    expect(check({ f0: '龙胆', f1: '5', f2: '-2.5' })).toEqual({});
  });

  it('answers by field name, numbers as numbers, without what was left empty', () => {
    const fields = [
      field('characterName'),
      field('age', { type: 'number' }),
      field('ok', { type: 'checkbox' }),
      field('note', { type: 'textarea' }),
    ];
    const values = { f0: '陆青云', f1: ' 12 ', f2: false, f3: '  ' };
    expect(answerFields(withFields(fields), values)).toEqual({ characterName: '陆青云', age: 12, ok: false });
    const odd = answerFields(withFields([field('__proto__')]), { f0: 'x' });
    expect(Object.keys(odd)).toEqual(['__proto__']);
  });

  it('puts what the server found to its field, and the rest on top', () => {
    const told = toldFaults(withFields([field('name')]), [
      { field: 'name', message: 'taken' },
      { field: 'unknown', message: 'odd' },
      { message: 'as a whole' },
    ]);
    expect(told).toEqual({
      byField: { f0: { kind: 'told', message: 'taken' } },
      general: ['odd', 'as a whole'],
    });
  });
});

describe('a choice', () => {
  const words = { yes: 'Yes', no: 'No' };
  it('answers with the id that was picked', () => {
    const spec = choiceSpec(
      form('c', 't1', {
        type: 'choice',
        block: {
          prompt: 'Where?',
          choices: [
            { id: 'n', label: 'North', description: 'cold' },
            { id: 's', label: '南' },
          ],
        },
      }),
      words,
    );
    expect(spec.elements['group']).toMatchObject({ props: { prompt: 'Where?' }, children: ['f0', 'f1'] });
    expect(spec.elements['f0']).toMatchObject({
      props: { label: 'North', description: 'cold' },
      on: { press: { action: 'answer', params: { selectedId: 'n' } } },
    });
  });
  it('of yes and no is a confirmation', () => {
    const spec = choiceSpec(
      form('c', 't1', { type: 'confirmation', block: { prompt: 'Sure?', confirmLabel: 'I am' } }),
      words,
    );
    expect([spec.elements['f0'], spec.elements['f1']]).toMatchObject([
      { props: { label: 'I am' }, on: { press: { params: { confirmed: true } } } },
      { props: { label: 'No' }, on: { press: { params: { confirmed: false } } } },
    ]);
  });
});
