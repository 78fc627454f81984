import { nestedToFlat, type Spec } from '@json-render/core';
import { actions, isComponent } from './catalogue';

/** A plugin's specification after the check: safe to draw, or refused with the reasons. */
export interface Panel {
  pluginId: string;
  id: string;
  /** Panels of one group share a tab, across plugins. */
  group: string;
  groupLabel: string;
  groupOrder: number;
  label: string;
  icon: string | undefined;
  namespace: string | undefined;
  emptyMessage: string | undefined;
  alwaysRender: boolean;
  spec: Spec | undefined;
  issues: string[];
}

const MAX_DEPTH = 32;
const MAX_ELEMENTS = 2000;
const SPEC_VERSION = 1;
const DEFAULT_ORDER = 500;

/**
 * Checks one specification of a plugin: nested with `component` or `type`, in a panel's `view` or bare, or already
 * flat (`root`, `elements`). Never throws; what is wrong is in `issues` and then there is nothing to draw.
 */
export function readPanel(pluginId: string, raw: unknown): Panel {
  const issues: string[] = [];
  const outer = record(raw) ?? {};
  const source = record(outer['dataSource']);
  const empty = record(outer['emptyState']);
  const id = words(outer['id']) ?? pluginId;
  const label = words(outer['label']) ?? id;

  const version = outer['specVersion'];
  if (typeof version === 'number' && version > SPEC_VERSION)
    issues.push(`specVersion ${String(version)} is not known`);
  const spec = readView(outer['view'] ?? outer, issues);

  return {
    pluginId,
    id,
    group: words(outer['group']) ?? id,
    groupLabel: words(outer['groupLabel']) ?? words(outer['shortLabel']) ?? label,
    groupOrder: typeof outer['groupOrder'] === 'number' ? outer['groupOrder'] : DEFAULT_ORDER,
    label,
    icon: words(outer['icon']),
    namespace: words(source?.['namespace']),
    emptyMessage: words(empty?.['message']),
    alwaysRender: outer['alwaysRender'] === true,
    spec: issues.length === 0 ? spec : undefined,
    issues,
  };
}

type Rec = Record<string, unknown>;

function record(value: unknown): Rec | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Rec) : undefined;
}

function words(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Reads the drawing itself. Adds to `issues`; undefined when there is nothing that could be drawn. */
export function readView(raw: unknown, issues: string[]): Spec | undefined {
  const view = record(raw);
  if (view === undefined) {
    issues.push('there is no view');
    return undefined;
  }
  const checker = new Checker(issues);
  const flat = record(view['elements']);
  if (flat !== undefined) {
    const elements: Spec['elements'] = {};
    for (const [key, element] of Object.entries(flat)) {
      const checked = checker.element(element, `elements.${key}`, true);
      if (checked !== undefined) elements[key] = checked as unknown as Spec['elements'][string];
    }
    const root = view['root'];
    if (typeof root !== 'string' || !Object.hasOwn(elements, root)) {
      issues.push('root names no element');
      return undefined;
    }
    if (cyclic(root, elements)) {
      issues.push('an element contains itself');
      return undefined;
    }
    return { root, elements };
  }
  const nested = checker.node(view, 'view', 0);
  return nested && nestedToFlat(nested);
}

function cyclic(root: string, elements: Spec['elements']): boolean {
  const open = new Set<string>();
  const done = new Set<string>();
  const visit = (key: string): boolean => {
    if (open.has(key)) return true;
    if (done.has(key) || !Object.hasOwn(elements, key)) return false;
    open.add(key);
    const children = elements[key]?.children ?? [];
    const found = open.size > MAX_DEPTH || children.some(visit);
    open.delete(key);
    done.add(key);
    return found;
  };
  return visit(root);
}

class Checker {
  private count = 0;

  constructor(private readonly issues: string[]) {}

  node(raw: unknown, path: string, depth: number): Rec | undefined {
    if (depth > MAX_DEPTH) {
      this.issues.push(`${path} is nested too deeply`);
      return undefined;
    }
    const element = this.element(raw, path, false);
    if (element === undefined) return undefined;
    const children = (record(raw) as Rec)['children'];
    if (Array.isArray(children)) {
      element['children'] = children.flatMap((child, n) => {
        const checked = this.node(child, `${path}.children[${String(n)}]`, depth + 1);
        return checked === undefined ? [] : [checked];
      });
    }
    return element;
  }

  /** One element without its nested children; of a flat one, `children` are keys. */
  element(raw: unknown, path: string, flat: boolean): Rec | undefined {
    const source = record(raw);
    const type = source?.['component'] ?? source?.['type'];
    if (source === undefined || !isComponent(type)) {
      this.issues.push(`${path}: ${JSON.stringify(type ?? null)} is not a component`);
      return undefined;
    }
    if (++this.count > MAX_ELEMENTS) {
      if (this.count === MAX_ELEMENTS + 1) this.issues.push(`more than ${String(MAX_ELEMENTS)} elements`);
      return undefined;
    }
    for (const part of ['props', 'repeat', 'visible', 'on', 'watch'])
      this.paths(source[part], `${path}.${part}`);

    const element: Rec = { type, props: record(source['props']) ?? {} };
    if (flat)
      element['children'] = Array.isArray(source['children'])
        ? source['children'].filter((c) => typeof c === 'string')
        : [];
    if (record(source['repeat'])) element['repeat'] = source['repeat'];
    if (source['visible'] !== undefined) element['visible'] = source['visible'];
    const on = this.bindings(source['on'], `${path}.on`);
    if (on !== undefined) {
      // One name for what a pointer, a key or a switch device does.
      const { click, ...rest } = on;
      element['on'] = click === undefined ? rest : { ...rest, press: click };
    }
    const watch = this.bindings(source['watch'], `${path}.watch`);
    if (watch !== undefined) element['watch'] = watch;
    return element;
  }

  private bindings(raw: unknown, path: string): Rec | undefined {
    const source = record(raw);
    if (source === undefined) return undefined;
    return Object.fromEntries(
      Object.entries(source).map(([event, binding]) => [
        event,
        Array.isArray(binding)
          ? binding.flatMap((b) => this.binding(b, `${path}.${event}`) ?? [])
          : (this.binding(binding, `${path}.${event}`) ?? []),
      ]),
    );
  }

  /** An action this page does not know stays out: its button does nothing, the rest of the panel is drawn. */
  private binding(raw: unknown, path: string): Rec | undefined {
    const source = record(raw);
    const action = source?.['action'];
    if (typeof action !== 'string') {
      this.issues.push(`${path} names no action`);
      return undefined;
    }
    if (!(actions as readonly string[]).includes(action)) return undefined;
    const params = record(source?.['params']) ?? {};
    if (!['draftMessage', 'sendMessage', 'answer'].includes(action)) return { action, params };
    // In parameters the library reads `$item` as an address to write to; here its value is meant.
    return {
      action,
      params: Object.fromEntries(
        Object.entries(params).map(([name, value]) => {
          const item = record(value)?.['$item'];
          return [name, typeof item === 'string' && item !== '' ? { $template: `\${${item}}` } : value];
        }),
      ),
    };
  }

  /** No address may lead to a prototype: the panel's state is written by such addresses. */
  private paths(value: unknown, path: string, depth = 0): void {
    if (depth > MAX_DEPTH) {
      this.issues.push(`${path} is nested too deeply`);
    } else if (typeof value === 'string') {
      if (PROTOTYPE.test(value)) this.issues.push(`${path} names a prototype`);
    } else if (Array.isArray(value)) {
      for (const v of value) this.paths(v, path, depth + 1);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, v] of Object.entries(value)) {
        this.paths(key, path, depth + 1);
        this.paths(v, path, depth + 1);
      }
    }
  }
}

const PROTOTYPE = /(^|[/.{])__proto__($|[/.}])|constructor[/.]prototype/;

/**
 * What a panel's addresses lead into: the values of its namespace by key, and `/entries`, all of them as a list of
 * `{key, value}`.
 */
export function panelState(data: Record<string, unknown> | undefined): Record<string, unknown> {
  const values = Object.entries(data ?? {}).filter(([key]) => key !== '__proto__');
  return { ...Object.fromEntries(values), entries: values.map(([key, value]) => ({ key, value })) };
}
