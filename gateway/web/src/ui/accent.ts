/**
 * A world names its accent as it likes; a reader must still be able to read it. The colour keeps its hue and is
 * moved lighter or darker until it stands out from the paper.
 */

export type Rgb = [number, number, number];

/** Reads `#rgb` or `#rrggbb`; undefined for anything else: a colour from a world is foreign input. */
export function parseHex(colour: string | undefined): Rgb | undefined {
  const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec((colour ?? '').trim())?.[1];
  if (hex === undefined) return undefined;
  const full = hex.length === 3 ? [...hex].map((c) => c + c).join('') : hex;
  const part = (n: number) => parseInt(full.slice(n * 2, n * 2 + 2), 16);
  return [part(0), part(1), part(2)];
}

export function toHex(rgb: Rgb): string {
  return `#${rgb.map((c) => Math.round(c).toString(16).padStart(2, '0')).join('')}`;
}

function luminance(rgb: Rgb): number {
  const [r, g, b] = rgb.map((c) => {
    const s = c / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** The contrast of two colours, 1 to 21, as WCAG defines it. */
export function contrast(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

const mix = (from: Rgb, to: Rgb, share: number): Rgb =>
  from.map((c, n) => c + ((to[n] as number) - c) * share) as Rgb;

/** The nearest shade of `colour` whose contrast with `paper` is at least `least`. */
export function readable(colour: Rgb, paper: Rgb, least: number): Rgb {
  const goal: Rgb = luminance(paper) > 0.2 ? [0, 0, 0] : [255, 255, 255];
  for (let share = 0; share <= 1; share += 0.02) {
    const shade = mix(colour, goal, share).map(Math.round) as Rgb;
    if (contrast(shade, paper) >= least) return shade;
  }
  return goal;
}

/** The two papers; the same as `--paper-sunk` in tokens.css, the darker of each theme's grounds. */
export const PAPER: Rgb = [0xef, 0xe8, 0xda];
export const NIGHT: Rgb = [0x2a, 0x26, 0x21];
/** Without an accent of its own a world gets the ink of an old binding. */
export const DEFAULT_ACCENT: Rgb = [0x8a, 0x4b, 0x2a];

const LEAST = 4.6;

/** The accent for both themes and the cloth of the cover, as CSS values. */
export function accentFor(colour: string | undefined): { paper: string; night: string; cloth: string } {
  const accent = parseHex(colour) ?? DEFAULT_ACCENT;
  // The title on a cover is set in cream: the cloth is dark enough for it.
  const cream: Rgb = [0xf6, 0xef, 0xe0];
  return {
    paper: toHex(readable(accent, PAPER, LEAST)),
    night: toHex(readable(accent, NIGHT, LEAST)),
    cloth: toHex(readable(accent, cream, 5.5)),
  };
}
