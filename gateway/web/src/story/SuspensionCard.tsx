import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Suspension } from '../protocol/types';
import { resumeQuestion } from '../spec/resumeForm';
import { Question } from './InteractionView';

/** Part of the story waits for the player: its question, and the way to leave it unanswered. */
export function SuspensionCard({
  suspension,
  onAnswer,
  onLeave,
}: {
  suspension: Suspension;
  onAnswer: (data: unknown) => void;
  onLeave: () => void;
}) {
  const { t } = useTranslation();
  const [fault, setFault] = useState(false);
  const { interaction, dataOf } = useMemo(
    () => resumeQuestion(suspension, { answer: t('waiting.answer') }),
    [suspension, t],
  );
  return (
    <section className="waiting" aria-label={t('waiting.label')}>
      <Question
        interaction={interaction}
        onAnswer={(answer) => {
          let data: unknown;
          try {
            data = dataOf(answer);
          } catch {
            setFault(true);
            return;
          }
          setFault(false);
          onAnswer(data);
        }}
      />
      {fault && (
        <p className="field__error" role="alert">
          {t('waiting.json')}
        </p>
      )}
      <p className="waiting__hint">
        {t('waiting.hint')}{' '}
        <button type="button" className="link-button" onClick={onLeave}>
          {t('waiting.leave')}
        </button>
      </p>
    </section>
  );
}
