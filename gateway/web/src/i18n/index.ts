import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import { en } from './en';
import { zh } from './zh';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'ui';
    resources: { ui: typeof en };
  }
}

/** The languages of the interface, each by its own name. */
export const LANGUAGES = { en: 'English', 'zh-CN': '简体中文' } as const;
export type Language = keyof typeof LANGUAGES;

const STORED = 'covel.language';

/** Any Chinese reader gets Chinese, everybody else English. The reader's own choice comes first. */
export function pickLanguage(stored: string | null, wanted: readonly string[]): Language {
  if (stored !== null && Object.hasOwn(LANGUAGES, stored)) return stored as Language;
  for (const tag of wanted) {
    if (/^zh\b/i.test(tag)) return 'zh-CN';
    if (/^en\b/i.test(tag)) return 'en';
  }
  return 'en';
}

export function startI18n(): void {
  const language = pickLanguage(read(), navigator.languages);
  void i18next.use(initReactI18next).init({
    lng: language,
    fallbackLng: 'en',
    supportedLngs: Object.keys(LANGUAGES),
    defaultNS: 'ui',
    resources: { en: { ui: en }, 'zh-CN': { ui: zh } },
    // React draws text nodes: nothing is ever read as markup, and escaping twice would show entities.
    interpolation: { escapeValue: false },
  });
  document.documentElement.lang = language;
}

export function setLanguage(language: Language): void {
  void i18next.changeLanguage(language);
  document.documentElement.lang = language;
  try {
    localStorage.setItem(STORED, language);
  } catch {
    // Then the choice holds for this page only.
  }
}

function read(): string | null {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null;
  }
}

/** The name of a language in itself: `zh-CN` → 中文（中国大陆）; the bare code when the browser knows no name. */
export function languageName(locale: string): string {
  if (Object.hasOwn(LANGUAGES, locale)) return LANGUAGES[locale as Language];
  try {
    return new Intl.DisplayNames([locale], { type: 'language' }).of(locale) ?? locale;
  } catch {
    return locale;
  }
}
