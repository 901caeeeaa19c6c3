import { toStorable } from '../../base/text.js';
import type { Action } from './action.js';
import type { Token } from './driver.js';

/** An action as the code emitted it, with what the moment of the call adds. */
export interface RecordedAction {
  readonly token: Token;
  readonly action: Action;
  /** Timers: the absolute deadline. Replay takes the recorded one's word for it. */
  readonly fireAtMs: number;
  /** Key-value writes: the time of the call. */
  readonly stampMs: number;
}

/**
 * The action with every raw text that `wire/` would clean cleaned now: what is compared on
 * replay and kept in memory must be what history will hold. Names and instance ids stay as
 * they are, because those are refused instead (runtime.md 2.12).
 */
export function cleanAction(action: Action): Action {
  switch (action.kind) {
    case 'scheduleActivity': {
      const input = toStorable(action.input);
      const sessionId = cleanOptional(action.sessionId);
      const tag = cleanOptional(action.tag);
      return input === action.input && sessionId === action.sessionId && tag === action.tag
        ? action
        : { kind: action.kind, name: action.name, input, sessionId, tag };
    }
    case 'startSubOrchestration':
    case 'startDetached':
    case 'continueAsNew': {
      const input = toStorable(action.input);
      return input === action.input ? action : { ...action, input };
    }
    default:
      return action;
  }
}

function cleanOptional(text: string | undefined): string | undefined {
  return text === undefined ? undefined : toStorable(text);
}
