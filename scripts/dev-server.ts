/** Starts a PostgreSQL for development and prints its URL; ends with Ctrl-C. */
import { startPostgresServer } from '../test/support/postgres-server.js';

const server = await startPostgresServer({ settings: ['max_connections=400', ...process.argv.slice(2)] });
console.log(server.url);
const stop = () => void server.destroy().then(() => process.exit(0));
process.once('SIGINT', stop);
process.once('SIGTERM', stop);
