export const plugin = 'guide'
