import { useBoundProp } from '@json-render/react';
import { useId, type SyntheticEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Prose } from '../../story/Prose';
import type { PropsOf } from '../catalogue';
import { define } from './define';

/** Questions of the story: forms and choices. */

const Form = define('Form', ({ props, children, emit }) => {
  const heading = useId();
  const fault = useId();
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!props.busy) emit('submit');
  };
  return (
    <form
      className="form"
      noValidate
      aria-labelledby={props.title === undefined ? undefined : heading}
      aria-describedby={props.fault === undefined ? undefined : fault}
      aria-busy={props.busy}
      onSubmit={submit}
    >
      {props.title !== undefined && (
        <h2 id={heading} className="form__title">
          {props.title}
        </h2>
      )}
      {props.notice !== undefined && <div className="form__notice">{<Prose text={props.notice} />}</div>}
      {props.fault !== undefined && (
        <p id={fault} className="form__fault" tabIndex={-1}>
          {props.fault}
        </p>
      )}
      {children}
    </form>
  );
});

const FormHeader = define('FormHeader', ({ props }) => (
  <header>
    <h2 className="form__title">{props.title}</h2>
    {props.notice !== undefined && <p className="form__notice">{props.notice}</p>}
  </header>
));

const FormField = define('FormField', ({ props, bindings }) => (
  <Field {...props} valueAt={bindings?.['value']} errorAt={bindings?.['error']} />
));

function Field({
  valueAt,
  errorAt,
  ...props
}: PropsOf<'FormField'> & { valueAt: string | undefined; errorAt: string | undefined }) {
  const { t } = useTranslation();
  const [value, setValue] = useBoundProp<string | boolean>(props.value, valueAt);
  const [error, setError] = useBoundProp<string | undefined>(props.error, errorAt);
  const id = useId();
  const errorId = `${id}-error`;
  const failed = error !== undefined && error !== '';
  const change = (next: string | boolean) => {
    setValue(next);
    if (failed) setError(undefined);
  };
  const shared = {
    id,
    name: props.name,
    disabled: props.disabled,
    'aria-required': props.required || undefined,
    'aria-invalid': failed || undefined,
    'aria-describedby': failed ? errorId : undefined,
  };
  const fault = failed && (
    <p id={errorId} className="field__error">
      {error}
    </p>
  );

  if (props.fieldType === 'checkbox') {
    return (
      <div className="field">
        <div className="field--check">
          <input
            type="checkbox"
            {...shared}
            checked={value === true}
            onChange={(e) => {
              change(e.target.checked);
            }}
          />
          <label htmlFor={id}>{props.label}</label>
        </div>
        {fault}
      </div>
    );
  }

  const text = {
    ...shared,
    className: 'field__input',
    value: typeof value === 'string' ? value : '',
    onChange: (e: { target: { value: string } }) => {
      change(e.target.value);
    },
  };
  return (
    <div className="field">
      <label className="field__label" htmlFor={id}>
        {props.label}
        {!props.required && <span className="field__optional"> · {t('form.optional')}</span>}
      </label>
      {props.fieldType === 'textarea' ? (
        <textarea rows={3} placeholder={props.placeholder} {...text} />
      ) : props.fieldType === 'select' ? (
        <select {...text}>
          {(text.value === '' || !props.required) && <option value="">{t('form.choose')}</option>}
          {props.options.map((o) => (
            <option key={o.value} value={o.value}>
              {o.label}
            </option>
          ))}
        </select>
      ) : (
        <input
          type="text"
          inputMode={props.fieldType === 'number' ? 'decimal' : undefined}
          autoComplete="off"
          placeholder={props.placeholder}
          {...text}
        />
      )}
      {fault}
    </div>
  );
}

const SubmitButton = define('SubmitButton', ({ props }) => (
  <button type="submit" className="button button--primary" disabled={props.disabled}>
    {props.label}
  </button>
));

const ChoiceGroup = define('ChoiceGroup', ({ props, children }) => {
  const id = useId();
  return (
    <div className="choices" role="group" aria-labelledby={id}>
      <p id={id} className="choices__prompt">
        {props.prompt}
      </p>
      {children}
    </div>
  );
});

const ChoiceButton = define('ChoiceButton', ({ props, emit }) => (
  <button
    type="button"
    className="choice"
    disabled={props.disabled}
    onClick={() => {
      emit('press');
    }}
  >
    <span className="choice__label">{props.label}</span>
    {props.description !== undefined && <span className="choice__description">{props.description}</span>}
  </button>
));

export const questions = { Form, FormHeader, FormField, SubmitButton, ChoiceGroup, ChoiceButton };
