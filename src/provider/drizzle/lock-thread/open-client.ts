import type { LockThreadData } from './messages.js';

/** Renewals of both kinds and of sessions, and the clock, may fall together; one waits for the other. */
const CONNECTIONS = 1;

/** A client like the application's, for this thread. The driver is there: the application uses it. */
export async function openClient(
  { driver, options }: Pick<LockThreadData, 'driver' | 'options'>,
  password: (() => Promise<string>) | undefined,
): Promise<object> {
  const given = options['application_name'];
  const name = typeof given === 'string' ? given : 'duroxide-drizzle';
  if (driver === 'node-postgres') {
    const { Pool } = (await import('pg')).default;
    return new Pool({
      ...options,
      ...(password && { password }),
      application_name: `${name} (locks)`,
      max: CONNECTIONS,
      // Renewals are rarer than the idle time-out of a pool.
      idleTimeoutMillis: 0,
    });
  }
  const { default: postgres } = await import('postgres');
  return postgres({
    ...options,
    ...(password && { pass: password }),
    max: CONNECTIONS,
    onnotice: () => {},
  } as unknown as Parameters<typeof postgres>[0]);
}
