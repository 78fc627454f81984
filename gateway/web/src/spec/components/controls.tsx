import { useBoundProp } from '@json-render/react';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import { useHost } from '../host';
import { define } from './define';

/** Components that a reader operates. Each carries its own label. */

const Button = define('Button', ({ props, emit }) => (
  <button
    type="button"
    className={`button spec-button button--${props.variant} size-${props.size}`}
    disabled={props.disabled}
    onClick={() => {
      emit('press');
    }}
  >
    {props.label}
  </button>
));

const Suggestions = define('Suggestions', ({ props }) => {
  const { draftMessage } = useHost();
  const { t } = useTranslation();
  return (
    <div
      className="spec-row gap-sm align-center"
      role="group"
      aria-label={props.label ?? t('input.suggestions')}
    >
      {props.items.map((item, n) => {
        const text = typeof item === 'string' ? item : item.text;
        return (
          <button
            key={n}
            type="button"
            className="button spec-button size-compact"
            onClick={() => {
              draftMessage(text);
            }}
          >
            {text}
          </button>
        );
      })}
    </div>
  );
});

interface TextBoxProps {
  label: string;
  placeholder: string | undefined;
  value: string;
  binding: string | undefined;
  kind: 'text' | 'search' | 'area';
}

function TextBox({ label, placeholder, value, binding, kind }: TextBoxProps) {
  const [bound, setBound] = useBoundProp<string>(value, binding);
  const id = useId();
  const shared = {
    id,
    className: 'field__input',
    placeholder,
    value: bound ?? '',
    onChange: (e: { target: { value: string } }) => {
      setBound(e.target.value);
    },
  };
  return (
    <div className="field">
      <label className="field__label" htmlFor={id}>
        {label}
      </label>
      {kind === 'area' ? <textarea rows={3} {...shared} /> : <input type={kind} {...shared} />}
    </div>
  );
}

const Input = define('Input', ({ props, bindings }) => (
  <TextBox {...props} placeholder={props.placeholder} binding={bindings?.['value']} kind="text" />
));
const SearchInput = define('SearchInput', ({ props, bindings }) => (
  <TextBox {...props} placeholder={props.placeholder} binding={bindings?.['value']} kind="search" />
));
const Textarea = define('Textarea', ({ props, bindings }) => (
  <TextBox {...props} placeholder={props.placeholder} binding={bindings?.['value']} kind="area" />
));

const Select = define('Select', ({ props, bindings, emit }) => {
  const [value, setValue] = useBoundProp<string>(props.value, bindings?.['value']);
  const id = useId();
  return (
    <div className="field">
      <label className="field__label" htmlFor={id}>
        {props.label}
      </label>
      <select
        id={id}
        className="field__input"
        value={value ?? ''}
        onChange={(e) => {
          setValue(e.target.value);
          emit('change');
        }}
      >
        {props.options.map((o) => (
          <option key={o.value} value={o.value}>
            {o.label}
          </option>
        ))}
      </select>
    </div>
  );
});

const Switch = define('Switch', ({ props, bindings, emit }) => {
  const [checked, setChecked] = useBoundProp<boolean>(props.checked, bindings?.['checked']);
  return (
    <label className="field field--check">
      <input
        type="checkbox"
        role="switch"
        checked={checked ?? false}
        onChange={(e) => {
          setChecked(e.target.checked);
          emit('change');
        }}
      />
      <span>{props.label}</span>
    </label>
  );
});

interface PickProps {
  label: string | undefined;
  options: { value: string; label: string }[];
  value: string;
  binding: string | undefined;
}

/** One of several, as buttons in a row: for filters and for tabs whose contents the specification shows itself. */
function Pick({ label, options, value, binding }: PickProps) {
  const [picked, setPicked] = useBoundProp<string>(value, binding);
  return (
    <div className="pick" role="group" aria-label={label}>
      {options.map((o) => (
        <button
          key={o.value}
          type="button"
          className="pick__option"
          aria-pressed={picked === o.value}
          onClick={() => {
            setPicked(o.value);
          }}
        >
          {o.label}
        </button>
      ))}
    </div>
  );
}

const FilterBar = define('FilterBar', ({ props, bindings }) => (
  <Pick label={props.label} options={props.options} value={props.value} binding={bindings?.['value']} />
));
const Tabs = define('Tabs', ({ props, bindings }) => (
  <Pick label={props.label} options={props.tabs} value={props.value} binding={bindings?.['value']} />
));

export const controls = {
  Button,
  Suggestions,
  Input,
  SearchInput,
  Textarea,
  Select,
  Switch,
  FilterBar,
  Tabs,
};
