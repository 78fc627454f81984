import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/**
 * `npm run size`: what a first visit and a first story load, compressed, against the limit of the brief (250 KB of
 * script). A first visit is the entry and everything it imports; a story adds the session page's part.
 */
const LIMIT = 250 * 1024;
const dist = new URL('../dist/', import.meta.url).pathname;

const manifest = JSON.parse(readFileSync(join(dist, '.vite/manifest.json'), 'utf8'));

function scripts(entry, seen = new Set()) {
  const part = manifest[entry];
  if (part === undefined || seen.has(part.file)) return seen;
  seen.add(part.file);
  for (const next of part.imports ?? []) scripts(next, seen);
  return seen;
}

const zipped = (file) => gzipSync(readFileSync(join(dist, file)), { level: 9 }).length;
const total = (files) => [...files].reduce((sum, file) => sum + zipped(file), 0);
const kb = (bytes) => `${(bytes / 1024).toFixed(1)} KB`;

const first = scripts('index.html');
const story = scripts('src/pages/SessionPage.tsx', new Set(first));
const rows = [
  ['first visit (home)', total(first)],
  ['first story (home and session page)', total(story)],
];
let failed = false;
for (const [name, bytes] of rows) {
  const fits = bytes <= LIMIT;
  failed ||= !fits;
  console.log(`${name}: ${kb(bytes)} of ${kb(LIMIT)} ${fits ? 'ok' : 'TOO LARGE'}`);
}
process.exit(failed ? 1 : 0);
