import type { CSSProperties } from 'react';
import { accentFor } from '../ui/accent';

/** A world as a cloth-bound book, in its own colour. Decoration: the name stands beside it as text. */
export function Cover({
  name,
  accent,
  large = false,
}: {
  name: string;
  accent: string | undefined;
  large?: boolean;
}) {
  return (
    <div
      className={large ? 'cover cover--large' : 'cover'}
      style={{ '--cloth': accentFor(accent).cloth } as CSSProperties}
      aria-hidden
    >
      <div className="cover__frame">
        <span className="cover__name">{name}</span>
        <span className="cover__mark">❦</span>
      </div>
    </div>
  );
}
