import X from 'lucide-react/icons/x';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import type { Notice } from '../session/state';
import { useAnnounce } from '../ui/Announcer';

const told = [
  'conflict',
  'busy',
  'session_not_active',
  'session_ended',
  'invalid_action',
  'invalid_interaction_submission',
  'interaction_already_submitted',
  'form_rejected',
  'interjection_too_late',
  'interjection_lost',
  'suspension_not_found',
  'suspension_closed',
  'suspension_claimed',
  'suspension_out_of_date',
  'resume_failed',
  'internal',
] as const;

/** A refusal, in words a player understands. */
export function NoticeBar({ notice, onDismiss }: { notice: Notice; onDismiss: () => void }) {
  const { t } = useTranslation();
  const say = useAnnounce();
  const code = told.find((c) => c === notice.code) ?? 'other';
  const text = t(`notice.${code}`, { error: notice.text });
  useEffect(() => {
    say(text);
  }, [say, text, notice]);
  return (
    <div className="bar bar--fault">
      <p>{text}</p>
      <button type="button" className="icon-button" aria-label={t('app.dismiss')} onClick={onDismiss}>
        <X size={16} aria-hidden />
      </button>
    </div>
  );
}
