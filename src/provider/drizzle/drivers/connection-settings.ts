import { UnsupportedError } from '../../provider-error.js';

/** Options of both drivers that say where the server is, who logs in, and how the connection behaves. */
const CARRIED = [
  'connectionString',
  'host',
  'port',
  'path',
  'database',
  'user',
  'ssl',
  'sslnegotiation',
  'options',
  'connection',
  'application_name',
  'fallback_application_name',
  'client_encoding',
  'keepAlive',
  'keepAliveInitialDelayMillis',
  'keep_alive',
  'connectionTimeoutMillis',
  'connect_timeout',
  'target_session_attrs',
  'query_timeout',
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
] as const;

/** Functions of the application's that make the connection: another thread cannot call them. */
const NOT_CARRIED = ['stream', 'socket'] as const;

/**
 * The connection of a pool as data, which another thread can have as well.
 * @param passwordOption how the driver calls the password, which may be a function
 * @throws UnsupportedError naming the option that is no data
 */
export function connectionSettingsOf(
  given: object,
  passwordOption: 'password' | 'pass',
): { readonly options: Record<string, unknown>; readonly password?: () => Promise<string> } {
  // `password` and the key of `ssl` are not enumerable in a pool: read by name.
  const all = given as Record<string, unknown>;
  for (const name of NOT_CARRIED) if (typeof all[name] === 'function') throw cannotCarry(name);
  const options: Record<string, unknown> = {};
  for (const name of CARRIED) {
    const value = name === 'ssl' ? plainSsl(all[name]) : all[name];
    if (value !== undefined && value !== null) options[name] = asData(name, value);
  }
  const password = all[passwordOption];
  if (typeof password !== 'function') {
    return typeof password === 'string' ? { options: { ...options, [passwordOption]: password } } : { options };
  }
  return { options, password: async () => String(await (password as () => unknown)()) };
}

function plainSsl(ssl: unknown): unknown {
  if (typeof ssl !== 'object' || ssl === null) return ssl;
  const { key } = ssl as { key?: unknown };
  return key === undefined ? { ...ssl } : { ...ssl, key };
}

function asData(name: string, value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    throw cannotCarry(name);
  }
}

function cannotCarry(name: string): UnsupportedError {
  return new UnsupportedError(
    `no connection like those of the pool can be opened beside them: its option '${name}' is, or has in it, ` +
      'a function or an object that cannot be copied; connect without it',
  );
}
