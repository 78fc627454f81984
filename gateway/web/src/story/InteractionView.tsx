import { createStateStore } from '@json-render/core';
import { useEffect, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { Interaction } from '../protocol/types';
import { interactionOf } from '../session/reducer';
import {
  answerFields,
  choiceSpec,
  faults,
  formSpec,
  initialValues,
  toldFaults,
  type FieldFault,
  type FieldValue,
} from '../spec/formSpec';
import { SpecView } from '../spec/SpecView';
import { useStory } from './actions';

/** A question of the story: asked, or answered. One that was withdrawn shows nothing: it is asked anew below. */
export function InteractionView({ interaction }: { interaction: Interaction }) {
  if (interaction.status === 'void') return null;
  if (interaction.status === 'answered') return <Answered interaction={interaction} />;
  return <Asked interaction={interaction} />;
}

function Asked({ interaction }: { interaction: Interaction }) {
  const { answer } = useStory();
  return (
    <Question
      interaction={interaction}
      onAnswer={(fields) => {
        answer(interaction, fields, interaction.block.actionKind);
      }}
    />
  );
}

interface QuestionProps {
  interaction: Interaction;
  onAnswer: (fields: Record<string, unknown>) => void;
}

/** An open question, as a form or as buttons. Only for a form are `fields` by name; see docs/protocol.md, `Action`. */
export function Question(props: QuestionProps) {
  return props.interaction.type === 'form' ? <OpenForm {...props} /> : <OpenChoice {...props} />;
}

/** True while an answer to it is on its way, or nothing may be answered now. */
function useBusy(interaction: Interaction): { sending: boolean; busy: boolean } {
  const { outbox, open } = useStory();
  const sending = outbox.some((o) => interactionOf(o) === interaction.interactionId);
  return { sending, busy: sending || !open };
}

function OpenForm({ interaction, onAnswer }: QuestionProps) {
  const { t } = useTranslation();
  const { notice } = useStory();
  const { sending, busy } = useBusy(interaction);
  const box = useRef<HTMLDivElement>(null);

  const store = useMemo(
    () => createStateStore({ values: initialValues(interaction), errors: {}, busy: false }),
    // One store for the life of this question: what the player typed stays over every redraw.
    [], // eslint-disable-line react-hooks/exhaustive-deps
  );
  const label = interaction.block.submitLabel ?? t('form.submit');
  const spec = useMemo(
    () => formSpec(interaction, { submit: sending ? t('form.sending') : label }),
    [interaction, sending, label, t],
  );

  const faultText = (fault: FieldFault): string => {
    switch (fault.kind) {
      case 'told':
        return fault.message;
      case 'required':
        return t('form.required');
      case 'number':
        return t('form.number');
      case 'min':
        return t('form.min', { min: fault.limit });
      case 'max':
        return t('form.max', { max: fault.limit });
    }
  };
  const show = (byField: Record<string, FieldFault>, general: string[]) => {
    const count = Object.keys(byField).length;
    const lines = count > 0 ? [...general, t('form.faults', { count })] : general;
    store.update({
      '/errors': Object.fromEntries(Object.entries(byField).map(([k, f]) => [k, faultText(f)])),
      '/fault': lines.length > 0 ? lines.join(' ') : undefined,
    });
    // After the redraw: the first field with a fault, else the sentence about the whole.
    requestAnimationFrame(() => {
      const invalid = box.current?.querySelector<HTMLElement>('[aria-invalid="true"]');
      (invalid ?? box.current?.querySelector<HTMLElement>('.form__fault'))?.focus();
    });
  };

  useEffect(() => {
    store.set('/busy', busy);
  }, [busy, store]);

  // What the server found stands at its field, once per refusal.
  const mine = notice?.interactionId === interaction.interactionId ? notice : undefined;
  useEffect(() => {
    if (mine === undefined) return;
    const { byField, general } = toldFaults(interaction, mine.issues);
    const nothingNamed = mine.issues.length === 0 && mine.code === 'form_rejected';
    show(byField, nothingNamed ? [mine.text] : general);
  }, [mine]); // eslint-disable-line react-hooks/exhaustive-deps

  const submit = () => {
    const values = (store.get('/values') ?? {}) as Record<string, FieldValue>;
    const found = faults(interaction, values);
    show(found, []);
    if (Object.keys(found).length > 0) return;
    onAnswer(answerFields(interaction, values));
  };

  return (
    <div ref={box} className="question">
      <SpecView spec={spec} store={store} onAnswer={submit} />
    </div>
  );
}

function OpenChoice({ interaction, onAnswer }: QuestionProps) {
  const { t } = useTranslation();
  const { busy } = useBusy(interaction);
  const store = useMemo(() => createStateStore({ busy: false }), []);
  const spec = useMemo(
    () => choiceSpec(interaction, { yes: t('form.yes'), no: t('form.no') }),
    [interaction, t],
  );
  useEffect(() => {
    store.set('/busy', busy);
  }, [busy, store]);
  return (
    <div className="question">
      <SpecView spec={spec} store={store} onAnswer={onAnswer} />
    </div>
  );
}

function Answered({ interaction }: { interaction: Interaction }) {
  const { t } = useTranslation();
  const rows = answeredRows(interaction, { yes: t('form.yes'), no: t('form.no') });
  const title = interaction.block.title ?? interaction.block.prompt;
  return (
    <div className="answered" role="group" aria-label={t('form.answered')}>
      {title !== undefined && <p className="answered__title">{title}</p>}
      <dl className="pairs">
        {rows.map((row, n) => (
          <div key={n} className="pairs__row">
            {row.label !== '' && <dt>{row.label}</dt>}
            <dd>{row.value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function answeredRows(
  interaction: Interaction,
  words: { yes: string; no: string },
): { label: string; value: string }[] {
  const values = interaction.values ?? {};
  const { block } = interaction;
  if (interaction.type === 'choice') {
    const chosen = block.choices?.find((c) => c.id === values['selectedId']);
    return chosen === undefined ? [] : [{ label: '', value: chosen.label }];
  }
  if (interaction.type === 'confirmation') {
    if (typeof values['confirmed'] !== 'boolean') return [];
    return [{ label: '', value: values['confirmed'] ? words.yes : words.no }];
  }
  return (block.fields ?? []).flatMap((field) => {
    const value = Object.hasOwn(values, field.name) ? values[field.name] : undefined;
    if (typeof value === 'boolean') return [{ label: field.label, value: value ? words.yes : words.no }];
    if (typeof value !== 'string' && typeof value !== 'number') return [];
    const option = field.options?.find((o) => o.value === String(value));
    const text = option?.label ?? String(value);
    return text === '' ? [] : [{ label: field.label, value: text }];
  });
}
