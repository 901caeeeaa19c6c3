import { isMissingTable } from '../admin/own-tables.js';
import type { ProviderContext } from '../context.js';

/**
 * Runs what looks at start queues where their tables are. Where somebody dropped these
 * nothing waits in them: it is done again, and looks no more.
 */
export async function withoutMissingQueues<T>(ctx: ProviderContext, use: () => Promise<T>): Promise<T> {
  // Asked before: another call may learn meanwhile that they are missing.
  const looksAtThem = ctx.startQueues.present;
  try {
    return await use();
  } catch (error) {
    if (!looksAtThem || !isMissingTable(error)) throw error;
    ctx.startQueues.present = false;
    return use();
  }
}
