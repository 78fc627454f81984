/**
 * A fresh request id: 32 hex digits. `crypto.randomUUID` is missing on plain-http pages of other machines,
 * `getRandomValues` is not.
 */
export function newRequestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
}

/**
 * The id of the command that begins a session by itself: the same in every tab and after every reload, so that
 * the set-up runs once. Only characters that ids may hold.
 */
export function openingRequestId(incarnation: string): string {
  return `open.${incarnation.replace(/[^A-Za-z0-9._:-]/g, '-')}`.slice(0, 64);
}
