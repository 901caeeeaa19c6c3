import { afterEach, describe, expect, test } from '@jest/globals';
import type { Pool } from 'pg';
import { silentLogger } from '../../../src/base/logger.js';
import { openPool } from '../../../src/provider/drizzle/connect.js';
import { DrizzleProvider } from '../../../src/provider/drizzle/drizzle-provider.js';
import { entraPassword, type TokenCredential } from '../../../src/provider/drizzle/entra.js';
import { connectionSettingsOf } from '../../../src/provider/drizzle/drivers/connection-settings.js';
import { openClient } from '../../../src/provider/drizzle/open-client.js';
import { PasswordLine } from '../../../src/provider/drizzle/lock-thread/password-line.js';
import { detailOf } from '../../../src/provider/drizzle/postgres-provider.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../../support/database.js';
import { PasswordGate } from '../../support/password-gate.js';
import { waitFor } from '../../support/waiting.js';

const HOUR_MS = 3_600_000;
const SECRET = `eyJhbGciOi${'A1b2'.repeat(20)}.eyJzdWIi${'x9'.repeat(20)}.sig_nature-${'q'.repeat(30)}`;

/** Gives token after token, each for an hour. */
class Credential implements TokenCredential {
  given = 0;
  failure: Error | undefined;
  gate: Promise<void> = Promise.resolve();
  nowMs = 0;

  async getToken(): Promise<{ token: string; expiresOnTimestamp: number } | null> {
    const count = ++this.given;
    await this.gate;
    if (this.failure !== undefined) throw this.failure;
    return { token: `token-${count}`, expiresOnTimestamp: this.nowMs + HOUR_MS };
  }

  readonly clock = { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs };
}

const errorOf = (work: Promise<unknown>) => work.then(() => undefined, (error: unknown) => error as Error);

describe('Entra tokens', () => {
  test('one serves until its end comes near, then the next one is asked for', async () => {
    const credential = new Credential();
    const password = await entraPassword({ credential, refreshIntervalMs: 60_000 }, credential.clock);
    expect([await password(), await password()]).toEqual(['token-1', 'token-1']);
    credential.nowMs = HOUR_MS - 60_001;
    expect(await password()).toBe('token-1');
    credential.nowMs = HOUR_MS - 60_000;
    expect(await password()).toBe('token-2');
    expect(credential.given).toBe(2);
  });

  test('connections that ask together ask the credential once; one that hangs is not waited for by all', async () => {
    const credential = new Credential();
    let open = () => {};
    credential.gate = new Promise((resolve) => (open = resolve));
    const password = await entraPassword({ credential }, credential.clock);
    const first = Promise.all([password(), password(), password()]);
    credential.nowMs += 30_000;
    credential.gate = Promise.resolve();
    expect(await password()).toBe('token-2');
    open();
    expect(await first).toEqual(['token-1', 'token-1', 'token-1']);
    expect(credential.given).toBe(2);
  });

  test('while a renewal fails the token serves until its end; then the error says why, without a token', async () => {
    const credential = new Credential();
    const password = await entraPassword({ credential }, credential.clock);
    await password();
    credential.failure = Object.assign(new Error(`IMDS does not answer; last was ${SECRET}, sorry`), {
      name: 'CredentialUnavailableError',
    });
    credential.nowMs = HOUR_MS - 1;
    expect(await password()).toBe('token-1');
    credential.nowMs = HOUR_MS;
    const error = await errorOf(password());
    expect(error).toMatchObject({
      name: 'EntraCredentialError',
      message: 'the Entra credential gave no token: CredentialUnavailableError: IMDS does not answer; last was [redacted], sorry',
    });
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(SECRET.slice(0, 40));
    credential.failure = undefined;
    expect(await password()).toBe('token-4');
  });

  test.each<[what: string, given: unknown, expected: string]>([
    ['nothing', null, 'got nothing'],
    ['no token', { expiresOnTimestamp: 1 }, 'got one without a token'],
    ['an empty one', { token: '', expiresOnTimestamp: 1 }, 'got one without a token'],
  ])('a credential that gives %s is told so', async (_what, given, expected) => {
    const credential = { getToken: async () => given } as unknown as TokenCredential;
    await expect((await entraPassword({ credential }))()).rejects.toThrow(expected);
  });

  test('one whose end cannot be told is never kept', async () => {
    let count = 0;
    const credential = { getToken: async () => ({ token: `t${++count}`, expiresOnTimestamp: Number.NaN }) };
    const password = await entraPassword({ credential });
    expect([await password(), await password()]).toEqual(['t1', 't2']);
  });
});

describe('each new connection logs in with the token of that moment', () => {
  let cleanUps: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
    cleanUps = [];
  });

  test('of the pool, for notifications, and of the thread that renews locks; a failure is retryable and names no token', async () => {
    const credential = new Credential();
    const gate = await PasswordGate.open(databaseUrl(), (password) => password === `token-${credential.given}`);
    const { username, pathname } = new URL(databaseUrl());
    const schema = uniqueSchema('entra');
    const password = await entraPassword({ credential }, credential.clock);
    const pool = (await openPool(
      { host: '127.0.0.1', port: gate.port, user: username, database: pathname.slice(1), password },
      { maxConnections: 2 },
    )) as Pool;
    cleanUps.push(() => gate.close(), () => dropSchema(schema));
    const provider = await DrizzleProvider.fromDrizzle(
      { $client: pool },
      { schema, ownsClient: true, rotatesTokens: true, logger: silentLogger },
    );
    cleanUps.push(() => provider.close());
    const passwords = () => [...new Set(gate.logins.splice(0).map((login) => login.password))];
    expect(gate.logins.length).toBeGreaterThan(0);
    expect(passwords()).toEqual(['token-1']);
    let notified = 0;
    const stop = provider.onWakeUp(() => notified++);
    cleanUps.push(async () => stop());
    await waitFor('the listener has logged in', () => gate.logins.length > 0);
    expect(passwords()).toEqual(['token-1']);

    // The token has ended, and all connections break.
    credential.nowMs = HOUR_MS;
    gate.cut();
    await waitFor('pool and listener are back', async () => {
      await provider.getCustomStatus('nobody', 0).catch(() => undefined);
      return gate.logins.length >= 2;
    });
    expect(passwords()).toEqual(['token-2']);

    credential.nowMs += HOUR_MS;
    credential.failure = new Error(`no luck with ${SECRET}`);
    gate.cut();
    const error = await waitFor(
      'an operation is told by the credential',
      () => errorOf(provider.read('nobody')),
      (failure) => failure !== undefined && /credential/.test(failure.message),
    );
    expect(error).toMatchObject({ name: 'ProviderError', retryable: true });
    expect(error?.message).toContain('the Entra credential gave no token: Error: no luck with [redacted]');
    expect(detailOf(error)).toBe('the Entra credential gave no token: Error: no luck with [redacted]');
    credential.failure = undefined;
    await waitFor('it recovers', async () => (await errorOf(provider.read('nobody'))) === undefined);

    // What the thread is started with, and its own client, whose passwords come from here.
    const settings = connectionSettingsOf(pool.options, 'password');
    expect(JSON.stringify(settings.options)).not.toContain('token');
    const line = new PasswordLine(() => {
      settings.password?.().then(
        (given) => line.answer(given),
        (failure: Error) => line.refuse(failure.message),
      );
    });
    const ofThread = { driver: 'node-postgres', options: settings.options, purpose: 'locks', idleTimeoutS: 0 } as const;
    const client = (await openClient({ ...ofThread, password: () => line.ask() })) as Pool;
    client.on('error', () => {});
    cleanUps.push(() => client.end());
    credential.nowMs += HOUR_MS;
    gate.logins.length = 0;
    await client.query('select 1');
    const latest = `token-${credential.given}`;
    expect(gate.logins).toContainEqual({ application: 'duroxide-drizzle (locks)', password: latest });
    credential.nowMs += HOUR_MS;
    gate.cut();
    await waitFor('it has logged in again', () => errorOf(client.query('select 1')), (failure) => failure === undefined);
    expect(`token-${credential.given}`).not.toBe(latest);
    expect(gate.logins.at(-1)?.password).toBe(`token-${credential.given}`);
  });
});
