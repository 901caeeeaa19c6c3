import { existsSync } from 'node:fs';
import path from 'node:path';
import { PRUNED_ROUNDS } from './prunes.js';

const PAUSE_MS = 60;

// Drop-in orchestrations are written without types.
type Loose = any;
type Orchestration = (ctx: Loose, input: Loose) => Generator<Loose, Loose, Loose>;

/** What the deeds work on. */
export const deedOrchestrations: Readonly<Record<string, Orchestration>> = {
  *mended(ctx, id) {
    const first = yield ctx.scheduleActivity('count', { key: `${id}/1`, value: 1 });
    return [first, yield ctx.scheduleSubOrchestration('mendedChild', id)];
  },
  *mendedChild(ctx, id) {
    yield ctx.scheduleTimer(PAUSE_MS);
    return yield ctx.scheduleActivity('breaks', { key: `${id}/2`, id });
  },
  /** Goes on for ever, with children, values and executions; only its deletion ends it. */
  *doomed(ctx, { id, round }) {
    ctx.setCustomStatus(`round ${round}`);
    ctx.setValue('round', String(round));
    const child = ctx.scheduleSubOrchestration('child', `${id}/${round}/child`);
    const work = [1, 2].map((n) => ctx.scheduleActivity('count', { key: `${id}/${round}/${n}`, value: n }));
    yield ctx.all([child, ...work]);
    yield ctx.scheduleTimer(PAUSE_MS);
    return yield ctx.continueAsNew({ id, round: round + 1 });
  },
  *pruned(ctx, { id, round }) {
    const before = Number(ctx.getValue('total') ?? 0);
    ctx.setValue('total', String(before + round));
    yield ctx.scheduleActivity('count', { key: `${id}/${round}`, value: round });
    if (round < PRUNED_ROUNDS) return yield ctx.continueAsNew({ id, round: round + 1 });
    return Number(ctx.getValue('total'));
  },
  *sole(ctx, who) {
    return yield ctx.scheduleActivity('count', { key: `sole/${who}`, value: who });
  },
  *order(ctx) {
    return yield ctx.dequeueEvent('mail');
  },
};

/** Fails until somebody has put a file of this id into `repairs`. */
export function breaks(note: (effect: string) => void, repairs: string) {
  return (_ctx: unknown, { key, id }: { readonly key: string; readonly id: string }): string => {
    note(key);
    if (!existsSync(path.join(repairs, id))) throw new Error('broken on purpose');
    return 'mended';
  };
}
