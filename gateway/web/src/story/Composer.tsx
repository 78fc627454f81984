import ArrowUp from 'lucide-react/icons/arrow-up';
import { useLayoutEffect, useRef, type KeyboardEvent } from 'react';
import { useTranslation } from 'react-i18next';

/** The protocol's limit for one line. */
const MAX = 100_000;

/**
 * The input. It grows with its text; Enter sends, Shift+Enter breaks the line, and an Enter that ends the choice of
 * a character (Chinese, Japanese, Korean) does neither.
 */
export function Composer({
  draft,
  onDraft,
  onSend,
  onInterject,
  questionOpen,
}: {
  draft: string;
  onDraft: (text: string) => void;
  onSend: (text: string) => void;
  /** Says the line into the turn that runs, while one does; sent, it would be the next turn. */
  onInterject: ((text: string) => void) | undefined;
  questionOpen: boolean;
}) {
  const { t } = useTranslation();
  const box = useRef<HTMLTextAreaElement>(null);
  const tooLong = draft.length > MAX;
  const empty = draft.trim() === '';

  useLayoutEffect(() => {
    const area = box.current;
    if (area === null) return;
    area.style.height = 'auto';
    area.style.height = `${String(area.scrollHeight)}px`;
  }, [draft]);

  const send = () => {
    if (empty || tooLong) return;
    onSend(draft.trim());
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    // 229: some browsers end the composition before they tell of the key that ended it.
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- there is no newer way
    const composing = event.nativeEvent.isComposing || event.keyCode === 229;
    if (event.key !== 'Enter' || event.shiftKey || composing) return;
    event.preventDefault();
    send();
  };

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label className="visually-hidden" htmlFor="line">
        {t('input.label')}
      </label>
      <textarea
        id="line"
        ref={box}
        className="composer__text"
        rows={1}
        value={draft}
        enterKeyHint="send"
        placeholder={questionOpen ? t('input.formOpen') : t('input.placeholder')}
        aria-describedby={tooLong ? 'line-fault' : 'line-hint'}
        aria-invalid={tooLong || undefined}
        onChange={(event) => {
          onDraft(event.target.value);
        }}
        onKeyDown={onKeyDown}
      />
      {onInterject !== undefined && (
        <button
          type="button"
          className="composer__interject"
          title={t('input.interjectHint')}
          disabled={empty || tooLong}
          onClick={() => {
            onInterject(draft.trim());
            box.current?.focus();
          }}
        >
          {t('input.interject')}
        </button>
      )}
      <button
        type="submit"
        className="composer__send"
        aria-label={t('input.send')}
        disabled={empty || tooLong}
      >
        <ArrowUp size={18} aria-hidden />
      </button>
      <p id="line-hint" className="visually-hidden">
        {t('input.hint')}
      </p>
      {tooLong && (
        <p id="line-fault" className="field__error composer__fault">
          {t('input.tooLong', { max: MAX })}
        </p>
      )}
    </form>
  );
}
