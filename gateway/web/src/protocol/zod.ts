/**
 * The one place that configures zod. Its just-in-time parsers are built with `new Function`, which our
 * content security policy forbids; without this line every page load would report a violation.
 * `main.tsx` imports this first, so that no schema of any library exists before it.
 */
import { config } from 'zod';

config({ jitless: true });
