import { DropdownMenu as Menu } from 'radix-ui';
import Check from 'lucide-react/icons/check';
import Settings2 from 'lucide-react/icons/settings-2';
import { useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { LANGUAGES, setLanguage, type Language } from '../i18n';
import { readTheme, setTheme, THEMES, type Theme } from '../ui/theme';

/**
 * The page's look and language; `children` are a page's own entries. Not modal: the story stays where it is. Drawn
 * where it stands, inside the header's landmark.
 */
export function SettingsMenu({ children }: { children?: ReactNode }) {
  const { t, i18n } = useTranslation();
  const [theme, pickTheme] = useState<Theme>(readTheme);
  const names: Record<Theme, string> = {
    auto: t('settings.themeAuto'),
    paper: t('settings.themePaper'),
    night: t('settings.themeNight'),
  };
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger className="icon-button" aria-label={t('app.menu')}>
        <Settings2 size={18} aria-hidden />
      </Menu.Trigger>
      <Menu.Content className="menu" align="end" sideOffset={6} collisionPadding={8}>
        <Menu.Label className="menu__label">{t('settings.theme')}</Menu.Label>
        <Menu.RadioGroup
          value={theme}
          onValueChange={(next) => {
            pickTheme(next as Theme);
            setTheme(next as Theme);
          }}
        >
          {THEMES.map((name) => (
            <Option key={name} value={name} label={names[name]} />
          ))}
        </Menu.RadioGroup>
        <Menu.Separator className="menu__rule" />
        <Menu.Label className="menu__label">{t('settings.language')}</Menu.Label>
        <Menu.RadioGroup
          value={i18n.language}
          onValueChange={(next) => {
            setLanguage(next as Language);
          }}
        >
          {Object.entries(LANGUAGES).map(([code, name]) => (
            <Option key={code} value={code} label={name} lang={code} />
          ))}
        </Menu.RadioGroup>
        {children}
      </Menu.Content>
    </Menu.Root>
  );
}

function Option({ value, label, lang }: { value: string; label: string; lang?: string }) {
  return (
    <Menu.RadioItem
      className="menu__item"
      value={value}
      lang={lang}
      onSelect={(event) => {
        // One may want to change both: choosing does not close.
        event.preventDefault();
      }}
    >
      <Menu.ItemIndicator className="menu__mark">
        <Check size={14} aria-hidden />
      </Menu.ItemIndicator>
      {label}
    </Menu.RadioItem>
  );
}
