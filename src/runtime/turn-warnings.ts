import { assertNever } from '../base/assert-never.js';
import type { LogFields, Logger } from '../base/logger.js';
import type { TurnWarning } from './replay/turn.js';

/** Reports what a turn found odd but could live with. */
export function logWarnings(logger: Logger, instance: string, warnings: readonly TurnWarning[]): void {
  for (const warning of warnings) {
    const fields: LogFields = { instance, ...warning };
    switch (warning.kind) {
      case 'messageOfOtherExecution':
      case 'duplicateOutcome':
        logger.debug(fields, 'a message was dropped: its outcome is known or belongs to another execution');
        break;
      case 'eventNotDelivered':
        logger.debug(fields, 'an event found nobody waiting and is not delivered; queues keep what comes early');
        break;
      case 'carryForwardTruncated':
        logger.warn(fields, 'more queue messages than continue-as-new carries over: the newest were dropped');
        break;
      case 'endedWithOpenActivities':
        logger.warn(
          fields,
          'an orchestration ended before its activities, which are cancelled: was an await forgotten?',
        );
        break;
      case 'tooManyKeys':
        logger.warn(fields, 'more keys than the limit: the next execution of this instance will fail');
        break;
      default:
        assertNever(warning, 'turn warning');
    }
  }
}
