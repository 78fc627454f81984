import { useTranslation } from 'react-i18next';
import type { Link } from '../session/connection';
import { spokenText } from '../session/reducer';
import type { Outgoing, SessionState } from '../session/state';
import { PlayerLine } from './Passage';
import { Prose } from './Prose';

/** What is not history yet: accepted lines, prose on its way, and lines that wait. */
export function Tail({
  state,
  link,
  onTakeBack,
}: {
  state: SessionState;
  link: Link;
  onTakeBack: (requestId: string) => void;
}) {
  const { t } = useTranslation();
  const note = (o: Outgoing): string => {
    if (o.command.type === 'interject' && o.status !== 'unsent') return t('story.interjected');
    if (o.status === 'queued') return t('story.queued', { count: Math.max(0, o.ahead - 1) });
    return o.status === 'unsent' && link !== 'live' ? t('story.offlineLine') : t('story.notStored');
  };
  // The first words of the story get their initial at once, not when they are committed.
  const unwritten =
    state.book?.messagesCursor === null && !state.book.messages.some((m) => m.source === 'story');
  const opens = (runtimeId: string) =>
    unwritten && state.work?.steps.find((s) => s.runtimeId === runtimeId)?.stage === 'narrative';
  return (
    <>
      {state.pending.map(({ message }) => (
        <div key={message.id} className="story__flow">
          <PlayerLine name={message.characterName} text={message.text} />
        </div>
      ))}
      {state.work?.streams.map((stream) => (
        <article
          key={stream.runtimeId}
          className={
            opens(stream.runtimeId)
              ? 'passage passage--streaming passage--first'
              : 'passage passage--streaming'
          }
          aria-busy="true"
        >
          <Prose text={stream.text} open />
        </article>
      ))}
      {state.outbox.map((o) => {
        const text = spokenText(o);
        if (text === undefined) return null;
        const mayTakeBack = o.status === 'unsent' && link !== 'live';
        return (
          <div key={o.command.requestId} className="story__flow">
            <PlayerLine
              text={text}
              note={note(o)}
              {...(mayTakeBack && {
                onTakeBack: () => {
                  onTakeBack(o.command.requestId);
                },
              })}
            />
          </div>
        );
      })}
    </>
  );
}
