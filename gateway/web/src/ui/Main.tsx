import type { ReactNode } from 'react';

/** Where the first page began; leaving it by a link of ours is what makes the next page an arrival. */
const landed = window.location.pathname;
let travelled = false;

/**
 * The main landmark of a page. A reader who comes here by a link is put at its beginning, as a new page of a browser
 * would do; the first page of all leaves the focus where the browser has it.
 */
export function Main({
  className,
  busy,
  children,
}: {
  className: string;
  busy?: boolean;
  children: ReactNode;
}) {
  return (
    <main id="main" className={className} tabIndex={-1} ref={arrive} aria-busy={busy}>
      {children}
    </main>
  );
}

function arrive(main: HTMLElement | null): void {
  travelled ||= window.location.pathname !== landed;
  if (travelled) main?.focus({ preventScroll: true });
}
