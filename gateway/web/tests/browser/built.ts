import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The mock serves the build: without one every test would fail for a reason that none of them names. */
export default function setup(): void {
  const index = join(import.meta.dirname, '../../dist/index.html');
  if (process.env['COVEL_URL'] === undefined && !existsSync(index)) {
    throw new Error('There is no build to test: run `npm run build` first.');
  }
}
