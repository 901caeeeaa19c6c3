import { toStorable } from '../../../base/text.js';
import type { AckOrchestrationItem, InstanceState } from '../../provider.js';
import type { EndedInstance } from './ack-statements.js';
import type { Notice } from '../notice.js';
import type { PreparedTurn } from './prepared-turn.js';

/** Is told how instances have ended. */
export type TellEnded = (states: readonly InstanceState[]) => void;

/** Who is to learn of instances that end with an acknowledgement, and how. */
export interface TellingEnds {
  /** Given how they ended, after the commit. */
  readonly ended?: TellEnded | undefined;
  /** Travels with the commit, where one ends. */
  readonly notice?: Notice | undefined;
}

/** Whether the instance ends with this turn. */
export function hasEnded({ metadata }: AckOrchestrationItem): boolean {
  return metadata.status === 'Completed' || metadata.status === 'Failed';
}

/** The rows of the instances, and what their turns have decided, make what a look would see. */
export function endStates(turns: readonly PreparedTurn[], rows: readonly EndedInstance[]): InstanceState[] {
  const turnOf = new Map(turns.map(({ turn }) => [turn.instance, turn]));
  return rows.flatMap((row) => {
    const turn = turnOf.get(row.instance);
    const { status, output } = turn?.metadata ?? {};
    // Of an execution that is not the last one a look would show another.
    if (status === undefined || turn?.executionId !== row.executionId) return [];
    return [{ ...row, status, output: output === undefined ? null : toStorable(output) }];
  });
}
