import { createStateStore } from '@json-render/core';
import { useMemo } from 'react';
import type { UIBlock, UIPart } from '../protocol/types';
import { BrokenPart } from '../spec/components/BrokenPart';
import { readView } from '../spec/panel';
import { SpecView } from '../spec/SpecView';
import { Boundary } from '../ui/Boundary';
import { Prose } from './Prose';

/** A block that a tool hung on a message: notices and small drawings. */
export function BlockView({ block }: { block: UIBlock }) {
  return (
    <div className={`ui-block layout-${block.layout === 'split' ? 'split' : 'stream'}`}>
      {block.parts.map((part, n) => (
        <Boundary key={n} fallback={<BrokenPart />} resetKey={part}>
          <Part part={part} />
        </Boundary>
      ))}
    </div>
  );
}

function Part({ part }: { part: UIPart }) {
  if (typeof part.content === 'string') return <Prose text={part.content} />;
  return <DrawnPart part={part} />;
}

function DrawnPart({ part }: { part: UIPart }) {
  const spec = useMemo(() => readView(partView(part), []), [part]);
  const store = useMemo(() => createStateStore({}), []);
  return spec === undefined ? <BrokenPart /> : <SpecView spec={spec} store={store} />;
}

/** A part's content is a view; or the properties of the one component that its type names. */
function partView(part: UIPart): unknown {
  const content = (part.content ?? {}) as Record<string, unknown>;
  if ('component' in content || 'type' in content || 'elements' in content || 'view' in content) {
    return content['view'] ?? content;
  }
  const name = part.type.charAt(0).toUpperCase() + part.type.slice(1);
  return { component: name === 'Notification' ? 'Alert' : name, props: content };
}
