import ChevronDown from 'lucide-react/icons/chevron-down';
import { useContext, useId, useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Prose } from '../../story/Prose';
import { NamedIcon } from '../../ui/icons';
import { characterFields, EmptyContext, useHost } from '../host';
import { define } from './define';

/** Components that only show. */

const Stack = define('Stack', ({ props, children }) => (
  <div className={`spec-stack gap-${props.gap}`}>{children}</div>
));

const Row = define('Row', ({ props, children }) => (
  <div className={`spec-row gap-${props.gap} align-${props.align}`}>{children}</div>
));

const Grid = define('Grid', ({ props, children }) => (
  <div className={`spec-grid cols-${String(props.cols)} gap-${props.gap}`}>{children}</div>
));

const Separator = define('Separator', () => <hr className="spec-separator" />);

const Heading = define('Heading', ({ props }) =>
  props.content === '' ? null : <h3 className="spec-heading">{props.content}</h3>,
);

const Text = define('Text', ({ props }) =>
  props.content === '' ? null : (
    <p
      className={`spec-text text-${props.size} text-${props.variant} weight-${props.weight} text-${props.align}`}
    >
      {props.content}
    </p>
  ),
);

const ProseBlock = define('Prose', ({ props }) => (
  <div className="spec-prose">
    <Prose text={props.content} />
  </div>
));

const PlayerMessage = define('PlayerMessage', ({ props }) => (
  <div className="spec-player">
    <Prose text={props.content} />
  </div>
));

const Source = define('Source', ({ props }) => <p className="spec-source">{props.label}</p>);

const Badge = define('Badge', ({ props }) =>
  props.label === '' ? null : <span className={`spec-badge tone-${props.color}`}>{props.label}</span>,
);

const Icon = define('Icon', ({ props }) => (
  <NamedIcon name={props.name} size={props.size} {...(props.label !== undefined && { label: props.label })} />
));

function Tags({ tags }: { tags: readonly string[] }) {
  return tags.length === 0 ? null : (
    <ul className="spec-tags">
      {tags.map((tag, n) => (
        <li key={n} className="spec-badge tone-neutral">
          {tag}
        </li>
      ))}
    </ul>
  );
}

const TagList = define('TagList', ({ props }) => <Tags tags={props.tags} />);

const List = define('List', ({ props }) => {
  const items = props.items.map((item, n) => <li key={n}>{item}</li>);
  return props.ordered ? <ol className="spec-list">{items}</ol> : <ul className="spec-list">{items}</ul>;
});

function Pairs({ items }: { items: { label: string; value: string }[] }) {
  return (
    <dl className="pairs">
      {items.map((item, n) => (
        <div key={n} className="pairs__row">
          <dt>{item.label}</dt>
          <dd>{item.value}</dd>
        </div>
      ))}
    </dl>
  );
}

const KeyValue = define('KeyValue', ({ props }) => <Pairs items={props.items} />);

const Card = define('Card', ({ props, children }) => (
  <section className={`spec-card card-${props.variant}`}>
    {props.title !== undefined && <h3 className="spec-heading">{props.title}</h3>}
    {children}
  </section>
));

const CardList = define('CardList', ({ children }) => <div className="spec-stack gap-sm">{children}</div>);

function Fold({
  summary,
  initiallyOpen,
  children,
}: {
  summary: ReactNode;
  initiallyOpen: boolean;
  children: ReactNode;
}) {
  const [open, setOpen] = useState(initiallyOpen);
  const id = useId();
  return (
    <section className="fold">
      <h3 className="fold__head">
        <button
          type="button"
          className="fold__button"
          aria-expanded={open}
          aria-controls={id}
          onClick={() => {
            setOpen(!open);
          }}
        >
          {summary}
          <ChevronDown size={16} aria-hidden className="fold__mark" />
        </button>
      </h3>
      <div id={id} hidden={!open} className="fold__body">
        {children}
      </div>
    </section>
  );
}

const Section = define('Section', ({ props, children }) => (
  <Fold
    initiallyOpen={props.defaultOpen}
    summary={
      <span className="fold__title">
        {props.icon !== undefined && <NamedIcon name={props.icon} size="sm" />} {props.title}
      </span>
    }
  >
    {children}
  </Fold>
));

const Accordion = define('Accordion', ({ children }) => <div className="spec-stack gap-xs">{children}</div>);

const EntryCard = define('EntryCard', ({ props }) => {
  const head = (
    <span className="entry__title">
      {props.icon !== undefined && <NamedIcon name={props.icon} size="sm" />}
      <span>{props.title}</span>
      {props.category !== undefined && <span className="spec-badge tone-neutral">{props.category}</span>}
      {props.isNew && <span className="entry__new" aria-hidden />}
    </span>
  );
  const body = (
    <>
      <div className="spec-prose">
        <Prose text={props.content} />
      </div>
      <Tags tags={props.tags} />
    </>
  );
  return (
    <article className={`entry rarity-${props.rarity}`}>
      {props.collapsible ? (
        <Fold summary={head} initiallyOpen={props.defaultExpanded}>
          {body}
        </Fold>
      ) : (
        <>
          <h3 className="spec-heading">{head}</h3>
          {body}
        </>
      )}
    </article>
  );
});

function Meter({
  label,
  value,
  max,
  figures,
}: {
  label: string;
  value: number;
  max: number;
  figures: boolean;
}) {
  const shown = Math.min(max, Math.max(0, value));
  return (
    <div className="meter">
      <span className="meter__label">{label}</span>
      {figures && (
        <span className="meter__figures">
          {value} / {max}
        </span>
      )}
      <progress className="meter__bar" value={shown} max={max} aria-label={label} />
    </div>
  );
}

const StatBar = define('StatBar', ({ props }) => <Meter {...props} figures />);
const Progress = define('Progress', ({ props }) => <Meter {...props} figures={false} />);

const Alert = define('Alert', ({ props }) => (
  <div className={`spec-alert level-${props.level}`}>
    <NamedIcon
      name={props.level === 'warning' || props.level === 'error' ? 'triangle-alert' : 'info'}
      size="sm"
    />
    <div>
      {props.title !== undefined && <p className="spec-alert__title">{props.title}</p>}
      {props.message !== '' && <p>{props.message}</p>}
    </div>
  </div>
));

const JsonView = define('JsonView', ({ props }) => (
  // A box that scrolls must be reachable by keyboard.
  // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
  <pre className="spec-json" tabIndex={0}>
    {JSON.stringify(props.value, null, 2)}
  </pre>
));

const CharacterFieldsView = define('CharacterFieldsView', ({ props }) => <CharacterSheet {...props} />);

/** The character with this id, or the newest of this type; the player's by default. */
function CharacterSheet({
  type = 'player',
  characterId,
}: {
  type?: string | undefined;
  characterId?: string | undefined;
}) {
  const { t } = useTranslation();
  const empty = useContext(EmptyContext);
  const { characters, characterSchema } = useHost();
  const character = characters.findLast((c) =>
    characterId === undefined ? c.type === type : c.id === characterId,
  );
  if (character === undefined) return <p className="panel__empty">{empty ?? t('panels.empty')}</p>;
  return (
    <article className="sheet">
      <h3 className="sheet__name">{character.name}</h3>
      {character.description !== undefined && character.description !== '' && (
        <Prose text={character.description} />
      )}
      <Pairs items={characterFields(character, characterSchema)} />
    </article>
  );
}

export const plain = {
  Stack,
  Row,
  Grid,
  Separator,
  Heading,
  Text,
  Prose: ProseBlock,
  PlayerMessage,
  Source,
  Badge,
  Icon,
  TagList,
  List,
  KeyValue,
  Card,
  CardList,
  EntryCard,
  Section,
  Accordion,
  StatBar,
  Progress,
  Alert,
  JsonView,
  CharacterFieldsView,
};
