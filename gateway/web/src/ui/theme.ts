export const THEMES = ['auto', 'paper', 'night'] as const;
export type Theme = (typeof THEMES)[number];

/** The same key and attribute as public/theme.js, which sets the theme before the first paint. */
const STORED = 'covel.theme';

export function readTheme(): Theme {
  try {
    const stored = localStorage.getItem(STORED);
    return THEMES.find((t) => t === stored) ?? 'auto';
  } catch {
    return 'auto';
  }
}

export function setTheme(theme: Theme): void {
  if (theme === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  try {
    localStorage.setItem(STORED, theme);
  } catch {
    // Then the choice holds for this page only.
  }
}
