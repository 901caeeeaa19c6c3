import type { ConnectionSettings } from './executor.js';

/** What makes a client beside the application's. */
export interface ClientPlan extends Pick<ConnectionSettings, 'driver' | 'options' | 'password'> {
  /** What it is for; in the `application_name`, after that of the application. */
  readonly purpose: string;
  /** Its one connection is closed after so long without use, in seconds; 0: never. */
  readonly idleTimeoutS: number;
}

/** A client of one connection like the application's. The driver is there: the application uses it. */
export async function openClient({ driver, options, password, purpose, idleTimeoutS }: ClientPlan): Promise<object> {
  const given = options['application_name'];
  const name = `${typeof given === 'string' ? given : 'duroxide-drizzle'} (${purpose})`;
  if (driver === 'node-postgres') {
    const { Pool } = (await import('pg')).default;
    return new Pool({
      ...options,
      ...(password && { password }),
      application_name: name,
      max: 1,
      idleTimeoutMillis: idleTimeoutS * 1_000,
      allowExitOnIdle: true,
    });
  }
  const { default: postgres } = await import('postgres');
  return postgres({
    ...options,
    ...(password && { pass: password }),
    max: 1,
    idle_timeout: idleTimeoutS,
    onnotice: () => {},
  } as unknown as Parameters<typeof postgres>[0]);
}
