import { UnsupportedError } from '../../provider/provider-error.js';
import type { Part } from '../views.js';

/** A store without our tables lacks a part and no more. */
export async function supported<T>(read: () => Promise<T>): Promise<Part<T>> {
  try {
    return { ok: true, value: await read() };
  } catch (error) {
    if (error instanceof UnsupportedError) return { ok: false, reason: error.message };
    throw error;
  }
}
