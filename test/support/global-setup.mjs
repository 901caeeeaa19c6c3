// Plain JavaScript: Jest does not apply `moduleNameMapper` to a global set-up.
import { tsImport } from 'tsx/esm/api';

/** One server for the whole run, unless `DATABASE_URL` names one. */
export default async function globalSetup() {
  if (process.env.DATABASE_URL) {
    process.env.DDZ_TEST_DATABASE_URL = process.env.DATABASE_URL;
    return;
  }
  const { startPostgresServer } = await tsImport('./postgres-server.ts', import.meta.url);
  globalThis.ddzServer = await startPostgresServer({
    settings: ['max_connections=400', 'shared_buffers=128MB', 'fsync=off'],
  });
  process.env.DDZ_TEST_DATABASE_URL = globalThis.ddzServer.url;
}
