import { createContext, useContext } from 'react';
import type { Notice, Outgoing } from '../session/state';
import type { InteractionRef } from '../protocol/types';

/** What the parts of a story may ask of the session, and what they must know to draw themselves. */
export interface StoryActions {
  answer: (interaction: InteractionRef, fields: Record<string, unknown>, kind: string | undefined) => void;
  outbox: Outgoing[];
  notice: Notice | undefined;
  /** False when the session takes no answers: paused, ended, or a turn is running. */
  open: boolean;
}

export const StoryContext = createContext<StoryActions>({
  answer: () => undefined,
  outbox: [],
  notice: undefined,
  open: false,
});

export function useStory(): StoryActions {
  return useContext(StoryContext);
}
