import { memo, useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Confirm } from '../ui/Dialog';
import { blocks, inlines, type Inline } from './prose';

/**
 * Story text. With `open` its last paragraph is still being written.
 * Every piece becomes a text node; there is no way from a string to an element here.
 */
export function Prose({ text, open = false }: { text: string; open?: boolean }) {
  const all = blocks(text);
  return (
    <>
      {all.map((block, n) =>
        block.kind === 'break' ? (
          <SceneBreak key={n} />
        ) : (
          <Paragraph key={n} text={block.text} open={open && n === all.length - 1} />
        ),
      )}
    </>
  );
}

const Paragraph = memo(function Paragraph({ text, open }: { text: string; open: boolean }) {
  return <p>{draw(inlines(text, open))}</p>;
});

function SceneBreak() {
  const { t } = useTranslation();
  return (
    <div className="scene-break" role="separator" aria-label={t('story.sceneBreak')}>
      <span aria-hidden>⁂</span>
    </div>
  );
}

function draw(all: Inline[]): ReactNode {
  return all.map((inline, n) => {
    switch (inline.kind) {
      case 'text':
        return inline.text;
      case 'em':
        return <em key={n}>{draw(inline.children)}</em>;
      case 'strong':
        return <strong key={n}>{draw(inline.children)}</strong>;
      case 'link':
        return <StoryLink key={n} {...inline} />;
    }
  });
}

/** A link in a story leads outside, so it says where to, and asks. */
function StoryLink({ label, url, host }: { label: string; url: string; host: string }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState(false);
  return (
    <>
      <button
        type="button"
        className="story-link"
        onClick={() => {
          setAsking(true);
        }}
      >
        {label} <span className="story-link__host">({host})</span>
      </button>
      <Confirm
        open={asking}
        onClose={() => {
          setAsking(false);
        }}
        title={t('story.openLink')}
        text={t('story.openLinkText', { host })}
        action={t('story.openLinkConfirm', { host })}
        onConfirm={() => {
          window.open(url, '_blank', 'noopener,noreferrer');
        }}
      />
    </>
  );
}
