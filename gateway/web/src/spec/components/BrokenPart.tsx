import { useTranslation } from 'react-i18next';

export function BrokenPart() {
  const { t } = useTranslation();
  return <p className="broken-part">{t('panels.brokenPart')}</p>;
}
