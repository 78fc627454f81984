// Runs before the first paint, so that a page never flashes in the other theme. A file of its own because the
// content security policy allows no inline script.
try {
  const theme = localStorage.getItem('covel.theme');
  if (theme === 'paper' || theme === 'night') document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the device's theme holds.
}
