import { Dialog as Radix } from 'radix-ui';
import X from 'lucide-react/icons/x';
import { useRef, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';

/**
 * A dialog that traps the focus, closes with Escape and gives the focus back.
 *
 * The backdrop is ours on purpose: Radix's overlay writes a `<style>` element to lock scrolling, which the
 * content security policy forbids. The page behind is locked by a rule in base.css instead.
 */
export function Dialog({
  open,
  onClose,
  title,
  description,
  children,
  sheet = false,
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  description?: string;
  children?: ReactNode;
  /** Slides up from below and may be tall: for panels on a phone. */
  sheet?: boolean;
}) {
  const { t } = useTranslation();
  // Whoever opened it: there is no trigger of Radix's that it could return to.
  const opener = useRef<Element | null>(null);
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <div className="backdrop" aria-hidden />
        <Radix.Content
          onOpenAutoFocus={() => {
            opener.current = document.activeElement;
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            if (opener.current instanceof HTMLElement) opener.current.focus();
          }}
          className={sheet ? 'dialog dialog--sheet' : 'dialog'}
          {...(description === undefined && { 'aria-describedby': undefined })}
        >
          <header className="dialog__head">
            <Radix.Title className="dialog__title">{title}</Radix.Title>
            <Radix.Close className="icon-button" aria-label={t('app.close')}>
              <X size={18} aria-hidden />
            </Radix.Close>
          </header>
          {description !== undefined && <Radix.Description>{description}</Radix.Description>}
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** A question with one thing to do and a way back. */
export function Confirm({
  open,
  onClose,
  title,
  text,
  action,
  danger = false,
  onConfirm,
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  text: string;
  action: string;
  danger?: boolean;
  onConfirm: () => void;
}) {
  const { t } = useTranslation();
  return (
    <Dialog open={open} onClose={onClose} title={title} description={text}>
      <div className="dialog__actions">
        <button type="button" className="button" onClick={onClose}>
          {t('app.cancel')}
        </button>
        <button
          type="button"
          className={danger ? 'button button--danger' : 'button button--primary'}
          onClick={() => {
            onClose();
            onConfirm();
          }}
        >
          {action}
        </button>
      </div>
    </Dialog>
  );
}
