import { defineConfig } from 'vitest/config';

/** A whole session in real Chromium: against the server at COVEL_URL, or against the mock without one. */
export default defineConfig({
  test: {
    include: ['tests/e2e/**/*.test.ts'],
    globalSetup: ['tests/browser/built.ts'],
    testTimeout: 180_000,
    hookTimeout: 60_000,
    fileParallelism: false,
    // Nothing here is about how fast this machine is.
    expect: { poll: { timeout: 20_000, interval: 60 } },
  },
});
