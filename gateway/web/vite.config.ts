import { defineConfig } from 'vite';

/**
 * The development server (`npm run dev`) hands `/api` to a running Covel: COVEL_URL, or the default address.
 * The build is one folder of static files that the Go package beside it embeds.
 */
export default defineConfig({
  build: {
    target: 'es2022',
    assetsDir: 'assets',
    // Everything must come from files: the content security policy allows no inline script or style, and a
    // data: URL in a stylesheet would be one more exception.
    assetsInlineLimit: 0,
    manifest: true,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      onwarn(warning, warn) {
        // Marks of libraries that mean nothing here: "use client", and notes for other minifiers.
        const harmless = ['MODULE_LEVEL_DIRECTIVE', 'INVALID_ANNOTATION'];
        if (!harmless.includes(warning.code ?? '')) warn(warning);
      },
    },
    chunkSizeWarningLimit: 600,
  },
  server: {
    proxy: {
      '/api': { target: process.env['COVEL_URL'] ?? 'http://127.0.0.1:7420', ws: true },
    },
  },
});
