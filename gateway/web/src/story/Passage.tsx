import { memo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Message, Segment } from '../protocol/types';
import { BlockView } from './BlockView';
import { InteractionView } from './InteractionView';
import { Prose } from './Prose';

/** One message of the story: the player's own lines are set apart, everything else is the book. */
export const Passage = memo(function Passage({ message, first }: { message: Message; first: boolean }) {
  const { t } = useTranslation();
  if (message.role === 'user') {
    return <PlayerLine name={message.characterName} text={message.text} />;
  }
  const open = message.interactions ?? [];
  const prose =
    message.segments !== undefined && message.segments.length > 0 ? (
      <Segments segments={message.segments} />
    ) : (
      <Prose text={message.text} />
    );
  return (
    <article className={passageClass(message, first)}>
      {prose}
      {message.truncated && <p className="passage__note">{t('story.truncated')}</p>}
      {message.blocks?.map((block, n) => (
        <BlockView key={n} block={block} />
      ))}
      {open.map((interaction) => (
        <InteractionView
          key={`${interaction.turnId}/${interaction.interactionId}`}
          interaction={interaction}
        />
      ))}
    </article>
  );
});

function passageClass(message: Message, first: boolean): string {
  const classes = ['passage'];
  if (message.source === 'runtime') classes.push('passage--aside');
  if (first) classes.push('passage--first');
  return classes.join(' ');
}

/** `data-line` marks where a reader's new page begins: the scroll keeps it in sight. */
export function PlayerLine({
  name,
  text,
  note,
  onTakeBack,
}: {
  name?: string | undefined;
  text: string;
  /** What became of it so far, for a line that is not history yet. */
  note?: string;
  onTakeBack?: () => void;
}) {
  const { t } = useTranslation();
  return (
    <article className="player-line" data-line={text}>
      <p className="speaker">{name ?? t('story.you')}</p>
      <Prose text={text} />
      {note !== undefined && (
        <p className="player-line__note">
          {note}
          {onTakeBack !== undefined && (
            <button type="button" className="link-button" onClick={onTakeBack}>
              {t('story.takeBack')}
            </button>
          )}
        </p>
      )}
    </article>
  );
}

function Segments({ segments }: { segments: Segment[] }) {
  return (
    <>
      {segments.map((segment, n) => {
        const speaker = segment.kind === 'dialogue' ? segment.speaker : undefined;
        const goesOn = speaker !== undefined && segments[n - 1]?.speaker === speaker;
        return (
          <div key={n} className={`segment segment--${segment.kind}`}>
            {speaker !== undefined && !goesOn && <p className="speaker">{speaker}</p>}
            <Prose text={segment.text} />
          </div>
        );
      })}
    </>
  );
}
