import { SchemaError } from '../drizzle/migrate/index.js';
import type { ProviderParts } from '../drizzle/open-provider.js';

/** The parts of a provider whose schema has the functions; otherwise they are closed. @throws SchemaError */
export async function withStoredFunctions(parts: ProviderParts): Promise<ProviderParts> {
  const { schema, storedFunctions, origin } = parts.status;
  if (storedFunctions === 'none' || storedFunctions === 'foreign') {
    await parts.close();
    throw new SchemaError('pending', schema, origin === 'native' ? nativeAdvice : adviceFor(schema));
  }
  if (storedFunctions === 'outdated') {
    parts.ctx.logger.warn({ schema }, `the stored functions are of another version: ${commandFor(schema)}`);
  }
  return parts;
}

const nativeAdvice = "native's stored functions are missing or incomplete; start a current native worker on it once";

function adviceFor(schema: string): string {
  return `the stored functions are missing; install them: ${commandFor(schema)}`;
}

function commandFor(schema: string): string {
  return (
    `npx duroxide-drizzle migrate --schema ${schema} --stored-functions, ` +
    `or migrate(db, { schema: '${schema}', storedFunctions: true })`
  );
}
