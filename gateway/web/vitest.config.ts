import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/unit/**/*.test.{ts,tsx}'],
    setupFiles: ['tests/unit/setup.ts'],
    // Only a test that hangs is too slow; a busy machine is not.
    testTimeout: 60_000,
  },
});
