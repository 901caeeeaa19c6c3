/** One of them by chance; `undefined` where there are none. */
export function pickOne<T>(items: readonly T[], random: () => number): T | undefined {
  // An injected generator may answer with 1.
  return items[Math.floor(random() * items.length)] ?? items[0];
}
