import type { ComponentRenderer } from '@json-render/react';
import type { ReactNode } from 'react';
import { Boundary } from '../../ui/Boundary';
import { props as schemas, type ComponentName, type PropsOf } from '../catalogue';
import { BrokenPart } from './BrokenPart';

/** What a component of the catalogue is given: checked properties, its children, and its events. */
export interface Drawn<N extends ComponentName> {
  props: PropsOf<N>;
  children?: ReactNode;
  emit: (event: string) => void;
  /** True when the specification bound something to the event. */
  bound: (event: string) => boolean;
  /** For each two-way property the address it is bound to. */
  bindings: Record<string, string> | undefined;
}

/**
 * Makes a component of the catalogue fit for json-render: checks its properties, and holds its faults. A component
 * that fails shows a short note in its place; json-render alone would show nothing.
 */
export function define<N extends ComponentName>(
  name: N,
  Draw: (given: Drawn<N>) => ReactNode,
): ComponentRenderer {
  const schema = schemas[name];
  function Checked({
    element,
    children,
    emit,
    on,
    bindings,
  }: Parameters<Extract<ComponentRenderer, (...args: never) => unknown>>[0]) {
    const checked = schema.safeParse(element.props);
    if (!checked.success) return <BrokenPart />;
    return (
      <Boundary fallback={<BrokenPart />} resetKey={element.props}>
        <Draw
          props={checked.data as PropsOf<N>}
          emit={emit}
          bound={(event) => on(event).bound}
          bindings={bindings}
        >
          {children}
        </Draw>
      </Boundary>
    );
  }
  Checked.displayName = name;
  return Checked;
}
