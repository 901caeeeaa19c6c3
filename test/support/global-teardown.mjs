export default async function globalTeardown() {
  await globalThis.ddzServer?.destroy();
}
