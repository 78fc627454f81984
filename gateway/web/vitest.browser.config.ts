import { defineConfig } from 'vitest/config';

/** Real Chromium over the built page (`npm run build` first) and the mock server. One file after the other: two cores. */
export default defineConfig({
  test: {
    include: ['tests/browser/**/*.test.ts'],
    globalSetup: ['tests/browser/built.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    fileParallelism: false,
    // Nothing here is about how fast this machine is.
    expect: { poll: { timeout: 20_000, interval: 60 } },
  },
});
