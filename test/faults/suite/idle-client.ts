/** A process with nothing but an idle client (C-09): says what it finds whenever it is asked. */
import pg from 'pg';
import { Client, DrizzleProvider, ProviderError, silentLogger } from '../../../src/index.js';

const { url, schema, ownPool } = JSON.parse(process.env['DDZ_IDLE_CLIENT'] ?? '{}') as {
  url: string;
  schema: string;
  ownPool: boolean;
};
const options = { schema, logger: silentLogger };
const provider = ownPool
  ? await DrizzleProvider.fromPool(new pg.Pool({ connectionString: url, max: 3, application_name: schema }), options)
  : await DrizzleProvider.connect(`${url}${url.includes('?') ? '&' : '?'}application_name=${schema}`, options);
const client = new Client(provider);
await Promise.all([1, 2, 3].map(() => client.getStatus('x')));
process.send?.('ready');
process.on('message', () => {
  client.getStatus('x').then(
    ({ status }) => process.send?.(status),
    (error: unknown) => process.send?.(ProviderError.is(error) ? error.message : `no provider error: ${String(error)}`),
  );
});
process.on('disconnect', () => process.exit(0));
