import { useEffect } from 'react';
import { accentFor } from './accent';

/** Gives the page the accent of the world at hand, made readable on both papers. */
export function useAccent(colour: string | undefined): void {
  useEffect(() => {
    const { style } = document.documentElement;
    const accent = accentFor(colour);
    style.setProperty('--accent-paper', accent.paper);
    style.setProperty('--accent-night', accent.night);
    style.setProperty('--cloth', accent.cloth);
    return () => {
      for (const name of ['--accent-paper', '--accent-night', '--cloth']) style.removeProperty(name);
    };
  }, [colour]);
}
