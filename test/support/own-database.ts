import { randomBytes } from 'node:crypto';
import { databaseUrl, withClient } from './database.js';

/** Runs `use` on a database of its own, for what a schema cannot keep apart: `public`, or settings of a database. */
export async function inOwnDatabase(use: (url: string) => Promise<void>): Promise<void> {
  const name = `ddz_own_${randomBytes(5).toString('hex')}`;
  await withClient((client) => client.query(`create database ${name}`));
  const url = new URL(databaseUrl());
  url.pathname = `/${name}`;
  try {
    await use(url.toString());
  } finally {
    await withClient((client) => client.query(`drop database ${name} with (force)`));
  }
}
