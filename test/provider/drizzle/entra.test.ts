import { describe, expect, jest, test } from '@jest/globals';
import { entraPassword } from '../../../src/provider/drizzle/entra.js';
import { PostgresProvider } from '../../../src/provider/drizzle/postgres-provider.js';

interface Manifest {
  readonly peerDependencies: Record<string, string>;
  readonly peerDependenciesMeta: Record<string, { optional: boolean }>;
}

describe('Entra without a credential', () => {
  test('an optional peer: says what to install when it is missing, before anything is connected', async () => {
    const error: unknown = await PostgresProvider.connectWithEntra('db.example', 5432, 'd', 'u').catch((e: unknown) => e);
    expect(error).toMatchObject({
      name: 'ConnectionFailedError',
      message: expect.stringMatching(
        /^Failed to connect with Entra: the package @azure\/identity is needed .*npm install @azure\/identity.*credential/,
      ),
    });
    const { default: manifest } = (await import('../../../package.json', { with: { type: 'json' } })) as unknown as {
      default: Manifest;
    };
    expect(manifest.peerDependencies).toHaveProperty(['@azure/identity']);
    expect(manifest.peerDependenciesMeta['@azure/identity']).toEqual({ optional: true });
  });

  test('a package that is there but broken is not reported as missing', async () => {
    jest.unstable_mockModule('@azure/identity', () => Promise.reject(new Error('half an installation')), { virtual: true });
    await expect(entraPassword({})).rejects.toThrow('half an installation');
  });

  test("the package's credentials are asked in turn, for the audience of PostgreSQL", async () => {
    const asked: unknown[] = [];
    const kind = (name: string, usable = true) =>
      class {
        readonly kind = name;
        constructor() {
          if (!usable) throw new Error('without its environment');
        }
      };
    jest.unstable_mockModule(
      '@azure/identity',
      () => ({
        WorkloadIdentityCredential: kind('workload', false),
        ManagedIdentityCredential: kind('managed'),
        AzureCliCredential: kind('cli'),
        AzureDeveloperCliCredential: kind('developer'),
        ChainedTokenCredential: class {
          private readonly kinds: string[];
          constructor(...credentials: { kind: string }[]) {
            this.kinds = credentials.map((credential) => credential.kind);
          }
          async getToken(audience: string) {
            asked.push(audience, ...this.kinds);
            return { token: 'token', expiresOnTimestamp: Date.now() + 3_600_000 };
          }
        },
      }),
      { virtual: true },
    );
    const password = await entraPassword({});
    expect([await password(), await password()]).toEqual(['token', 'token']);
    expect(asked).toEqual(['https://ossrdbms-aad.database.windows.net/.default', 'managed', 'cli', 'developer']);
  });
});
