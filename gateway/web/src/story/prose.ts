/**
 * Story text is text: paragraphs, *emphasis* and nothing else. This reads it into values that the page draws as
 * text nodes; no string from a model, a player or a world is ever markup. Links do nothing by themselves: they
 * carry their host, and are opened on purpose.
 *
 * One pass over the text, no regular expression with a choice inside a repetition: prose is foreign input.
 */

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'em' | 'strong'; children: Inline[] }
  | { kind: 'link'; label: string; url: string; host: string };

export type Block = { kind: 'paragraph'; text: string } | { kind: 'break' };

/** Splits at blank lines. A line of only asterisks, dashes or tildes is a break between scenes. */
export function blocks(text: string): Block[] {
  const found: Block[] = [];
  let lines: string[] = [];
  const flush = () => {
    const paragraph = lines.join('\n').trim();
    if (paragraph !== '') found.push({ kind: 'paragraph', text: paragraph });
    lines = [];
  };
  for (const line of wholeCharacters(text).split(/\r\n|\r|\n/)) {
    const mark = line.replaceAll(' ', '').trim();
    if (mark === '') flush();
    else if (mark.length >= 3 && isBreak(mark)) {
      flush();
      if (found.length > 0) found.push({ kind: 'break' });
    } else lines.push(line);
  }
  flush();
  return found;
}

function isBreak(mark: string): boolean {
  const first = mark.charAt(0);
  return '*-_~—⁂'.includes(first) && [...mark].every((c) => c === first);
}

/** Half a character at the end of a stream is held back until its other half is here. */
function wholeCharacters(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}

/**
 * Reads emphasis and links of one paragraph. With `open` (the paragraph is still being written) emphasis that is
 * not closed yet reaches to the end instead of showing its asterisk.
 */
export function inlines(text: string, open = false): Inline[] {
  const out: Inline[] = [];
  let plain = '';
  const flush = () => {
    if (plain !== '') out.push({ kind: 'text', text: plain });
    plain = '';
  };
  const barren: Barren = { '*': 0, '**': 0 };
  let at = 0;
  while (at < text.length) {
    const char = text.charAt(at);
    const span =
      char === '*'
        ? emphasis(text, at, open, barren)
        : char === '['
          ? labelledLink(text, at)
          : char === 'h'
            ? bareLink(text, at)
            : undefined;
    if (span === undefined) {
      plain += char;
      at++;
    } else {
      flush();
      if (span.inline !== undefined) out.push(span.inline);
      at = span.end;
    }
  }
  flush();
  return out;
}

/** No emphasis or link of real prose is longer; past it a mark is a character. Keeps foreign input linear. */
const REACH = 2000;

interface Span {
  /** Undefined for a mark that shows nothing. */
  inline: Inline | undefined;
  end: number;
}

const SPACE = /\s/;

/** Up to where there is certainly no closing mark of a kind: what was searched once is not searched again. */
type Barren = Record<'*' | '**', number>;

function emphasis(text: string, at: number, open: boolean, barren: Barren): Span | undefined {
  const mark = text.startsWith('**', at) ? '**' : '*';
  const from = at + mark.length;
  const kind = mark === '**' ? 'strong' : 'em';
  if (from >= text.length) return open ? { inline: undefined, end: from } : undefined;
  if (SPACE.test(text.charAt(from))) return undefined;
  const close = closing(text, from, mark, barren);
  if (close < 0) {
    if (!open || text.indexOf('\n', from) >= 0) return undefined;
    return { inline: { kind, children: inlines(text.slice(from), false) }, end: text.length };
  }
  return {
    inline: { kind, children: inlines(text.slice(from, close)) },
    end: close + mark.length,
  };
}

/** The closing mark: not after a space, not empty, and a single asterisk is not half of a double one. */
function closing(text: string, from: number, mark: '*' | '**', barren: Barren): number {
  const reach = from + REACH;
  let at = text.indexOf(mark, Math.max(from + 1, barren[mark]));
  while (at >= 0 && at < reach) {
    if (mark === '*' && text.charAt(at + 1) === '*') at++;
    else if (!SPACE.test(text.charAt(at - 1))) return at;
    at = text.indexOf(mark, at + mark.length);
  }
  barren[mark] = Math.max(barren[mark], Math.min(reach, text.length));
  return -1;
}

function labelledLink(text: string, at: number): Span | undefined {
  const near = text.slice(at + 1, at + REACH);
  const middle = near.indexOf('](');
  const label = near.slice(0, Math.max(0, middle));
  if (label === '' || label.includes('[') || label.includes('\n')) return undefined;
  const end = near.indexOf(')', middle);
  if (end < 0) return undefined;
  const link = linkTo(near.slice(middle + 2, end), label);
  return link && { inline: link, end: at + 1 + end + 1 };
}

const URL_END = /[\s<>"'`()[\]{}，。！？；：、）】」』”’]/;

function bareLink(text: string, at: number): Span | undefined {
  if (!text.startsWith('https://', at) && !text.startsWith('http://', at)) return undefined;
  let end = at;
  while (end < text.length && end - at < REACH && !URL_END.test(text.charAt(end))) end++;
  while (end > at && '.,!?;:*_'.includes(text.charAt(end - 1))) end--;
  const url = text.slice(at, end);
  const link = linkTo(url, url);
  return link && { inline: link, end };
}

function linkTo(address: string, label: string): Inline | undefined {
  let url: URL;
  try {
    url = new URL(address.trim());
  } catch {
    return undefined;
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined;
  return { kind: 'link', label, url: url.href, host: url.host };
}

/** The words alone, for a screen reader's announcement. */
export function spoken(text: string): string {
  const words = (all: Inline[]): string =>
    all
      .map((i) =>
        i.kind === 'text' ? i.text : i.kind === 'link' ? `${i.label} (${i.host})` : words(i.children),
      )
      .join('');
  return words(inlines(text));
}
