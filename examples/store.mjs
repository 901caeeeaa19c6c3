// Where the examples keep their state: PGlite inside this process, or the server of DATABASE_URL.
import { DrizzleProvider } from 'duroxide-drizzle';

/** Opens the store, hands it to `use`, and closes it. */
export async function withStore(use) {
  const url = process.env.DATABASE_URL;
  const provider = url
    ? await DrizzleProvider.connect(url, { schema: 'duroxide_examples' })
    : await DrizzleProvider.embedded();
  try {
    return await use(provider);
  } finally {
    await provider.close();
  }
}

/** An instance id that no earlier run has used. */
export function newId(name) {
  return `${name}-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 6)}`;
}
