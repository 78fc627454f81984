import { Tabs } from 'radix-ui';
import { useMemo, useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Character, PluginData, WorldSummary } from '../protocol/types';
import { characterFields } from '../spec/host';
import type { Panel } from '../spec/panel';
import { Prose } from '../story/Prose';
import { NamedIcon } from '../ui/icons';
import { PanelView } from './PanelView';

interface Group {
  id: string;
  label: string;
  order: number;
  icon: string | undefined;
  body: ReactNode;
}

/** What stands around the story: the plugins' panels by group, the people, the world. */
export function Panels({
  panels,
  pluginData,
  characters,
  characterSchema,
  world,
}: {
  panels: Panel[];
  pluginData: PluginData;
  characters: Character[];
  characterSchema: unknown;
  world: WorldSummary;
}) {
  const { t } = useTranslation();
  const groups = useMemo((): Group[] => {
    const own: Group[] = [
      {
        id: 'covel:people',
        label: t('panels.people'),
        order: 900,
        icon: 'users',
        body: <People characters={characters} schema={characterSchema} />,
      },
      {
        id: 'covel:world',
        label: t('panels.world'),
        order: 950,
        icon: 'globe',
        body: <WorldPanel world={world} />,
      },
    ];
    return [...grouped(panels, pluginData), ...own].sort((a, b) => a.order - b.order);
  }, [panels, pluginData, characters, characterSchema, world, t]);
  const [picked, pick] = useState<string | undefined>();
  const first = groups[0] as Group;
  const shown = groups.find((g) => g.id === picked) ?? first;

  return (
    <Tabs.Root className="panels" value={shown.id} onValueChange={pick} activationMode="manual">
      <Tabs.List className="panels__tabs" aria-label={t('panels.label')}>
        {groups.map((g) => (
          <Tabs.Trigger key={g.id} value={g.id} className="panels__tab">
            {g.icon !== undefined && <NamedIcon name={g.icon} size="sm" />}
            <span>{g.label}</span>
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      {groups.map((g) => (
        <Tabs.Content key={g.id} value={g.id} className="panels__body" tabIndex={0}>
          {g.body}
        </Tabs.Content>
      ))}
    </Tabs.Root>
  );
}

/** Panels of one group share a tab, also across plugins; the first to declare it names it. */
function grouped(panels: Panel[], pluginData: PluginData): Group[] {
  const byGroup = new Map<string, Panel[]>();
  for (const panel of panels) {
    byGroup.set(panel.group, [...(byGroup.get(panel.group) ?? []), panel]);
  }
  return [...byGroup.values()].map((members) => {
    const [first] = members as [Panel];
    return {
      id: `group:${first.group}`,
      label: first.groupLabel,
      order: first.groupOrder,
      icon: first.icon,
      body: members.map((panel) => (
        <section key={`${panel.pluginId}/${panel.id}`} className="panel">
          {members.length > 1 && <h2 className="panel__title">{panel.label}</h2>}
          <PanelView panel={panel} data={dataOf(panel, pluginData)} />
        </section>
      )),
    };
  });
}

export function dataOf(panel: Panel, pluginData: PluginData): Record<string, unknown> | undefined {
  if (panel.namespace === undefined || !Object.hasOwn(pluginData, panel.pluginId)) return undefined;
  const plugin = pluginData[panel.pluginId] ?? {};
  return Object.hasOwn(plugin, panel.namespace) ? plugin[panel.namespace] : undefined;
}

function People({ characters, schema }: { characters: Character[]; schema: unknown }) {
  const { t } = useTranslation();
  if (characters.length === 0) return <p className="panel__empty">{t('panels.noPeople')}</p>;
  return (
    <ul className="people">
      {characters.map((c) => (
        <li key={c.id} className="person">
          <details>
            <summary>
              <span className="person__name">{c.name}</span>
              {c.type === 'player' && <span className="spec-badge tone-neutral">{t('panels.you')}</span>}
            </summary>
            {c.aliases !== undefined && c.aliases.length > 0 && (
              <p className="person__aliases">{t('panels.aliases', { names: c.aliases.join(', ') })}</p>
            )}
            {c.description !== undefined && c.description !== '' && (
              <div className="spec-prose">
                <Prose text={c.description} />
              </div>
            )}
            <dl className="pairs">
              {characterFields(c, schema).map((field, n) => (
                <div key={n} className="pairs__row">
                  <dt>{field.label}</dt>
                  <dd>{field.value}</dd>
                </div>
              ))}
            </dl>
          </details>
        </li>
      ))}
    </ul>
  );
}

function WorldPanel({ world }: { world: WorldSummary }) {
  return (
    <article className="sheet">
      <h2 className="sheet__name">{world.name}</h2>
      <div className="spec-prose">
        <Prose text={world.summary} />
      </div>
      {world.tags.length > 0 && (
        <ul className="spec-tags">
          {world.tags.map((tag) => (
            <li key={tag} className="spec-badge tone-neutral">
              {tag}
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}
