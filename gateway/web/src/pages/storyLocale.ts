/** The reader's language when the world has it, else the same language of another place, else the world's own. */
export function storyLocale(world: { locales: string[]; defaultLocale: string }, language: string): string {
  const base = (tag: string) => tag.split('-')[0]?.toLowerCase();
  return (
    world.locales.find((l) => l === language) ??
    world.locales.find((l) => base(l) === base(language)) ??
    (world.defaultLocale === '' ? (world.locales[0] ?? language) : world.defaultLocale)
  );
}
