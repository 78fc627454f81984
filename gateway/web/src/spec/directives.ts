import { defineDirective, resolvePropValue, type DirectiveDefinition } from '@json-render/core';
import { z } from 'zod';

/**
 * The expressions a specification may use beside addresses: `$concat`, `$join`, `$count`, `$truncate`, `$math`,
 * `$format` and `$pluralize`. Each takes expressions as operands and yields text or a number; none can fail.
 */

type Ctx = Parameters<DirectiveDefinition['resolve']>[1];
const value = (raw: unknown, ctx: Ctx): unknown => resolvePropValue(raw, ctx);
const text = (raw: unknown): string =>
  typeof raw === 'string' ? raw : raw === null || raw === undefined ? '' : JSON.stringify(raw);
/** The page's language; the browser's own while the page has none. */
const language = () => document.documentElement.lang || undefined;
const list = (raw: unknown): unknown[] => (Array.isArray(raw) ? raw : []);

const define = (
  name: `$${string}`,
  resolve: (operand: unknown, whole: Record<string, unknown>, ctx: Ctx) => unknown,
) =>
  defineDirective({
    name,
    description: name,
    schema: z.looseObject({ [name]: z.unknown() }),
    resolve: (whole, ctx) => {
      const all = whole as Record<string, unknown>;
      return resolve(all[name], all, ctx);
    },
  });

export const directives: DirectiveDefinition[] = [
  define('$concat', (parts, _, ctx) =>
    list(parts)
      .map((p) => text(value(p, ctx)))
      .join(''),
  ),
  define('$join', (operand, { separator }, ctx) =>
    list(value(operand, ctx))
      .map(text)
      .join(typeof separator === 'string' ? separator : ', '),
  ),
  define('$count', (operand, _, ctx) => {
    const counted = value(operand, ctx);
    if (Array.isArray(counted)) return counted.length;
    return typeof counted === 'object' && counted !== null ? Object.keys(counted).length : 0;
  }),
  define('$truncate', (operand, { length }, ctx) => {
    const characters = [...text(value(operand, ctx))];
    const most = typeof length === 'number' ? length : 80;
    return characters.length <= most ? characters.join('') : `${characters.slice(0, most).join('')}…`;
  }),
  define('$math', (operation, { a, b }, ctx) => {
    const [x, y] = [Number(value(a, ctx)), Number(value(b, ctx))];
    switch (operation) {
      case 'add':
        return x + y;
      case 'subtract':
        return x - y;
      case 'multiply':
        return x * y;
      case 'divide':
        return y === 0 ? 0 : x / y;
      case 'round':
        return Math.round(x);
      default:
        return 0;
    }
  }),
  define('$format', (operand, { style }, ctx) => {
    const raw = value(operand, ctx);
    if (style === 'date') {
      const date = new Date(text(raw));
      return Number.isNaN(date.getTime()) ? text(raw) : date.toLocaleDateString(language());
    }
    const number = Number(raw);
    if (!Number.isFinite(number)) return text(raw);
    return number.toLocaleString(language(), style === 'percent' ? { style: 'percent' } : {});
  }),
  define('$pluralize', (operand, { one, other }, ctx) => {
    const count = Number(value(operand, ctx));
    return `${text(count)} ${text(value(count === 1 ? one : (other ?? one), ctx))}`.trim();
  }),
];
