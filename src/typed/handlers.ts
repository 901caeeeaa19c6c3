import type { Logger } from '../base/logger.js';
import type { ActivityHandler as RuntimeActivityHandler } from '../runtime/activity-handler.js';
import { activityFailureText, activityResult } from '../runtime/activity-failure.js';
import type { AsyncPort } from '../runtime/async/async-driver.js';
import { AsyncDriver } from '../runtime/async/async-driver.js';
import type { AsyncHost } from '../runtime/async/async-host.js';
import type { CreateDriver, DriverOutcome } from '../runtime/replay/driver.js';
import { decodePayload, encodePayload } from '../wire/payload.js';
import type { Activity, Orchestration } from './definitions.js';
import { OrchestrationContext } from './orchestration-context.js';
import { checkAgainst, checkAgainstNow } from './standard-schema.js';

/**
 * An activity as the runtime runs it: JSON in, schema, handler, schema, JSON out. A
 * refused value is a failure of the activity like any other that its handler throws.
 */
export function typedActivity<In, Out>({ name, options, handler }: Activity<In, Out>): RuntimeActivityHandler {
  const definition = `activity '${name}'`;
  return async (ctx, payload, maxPayloadBytes) => {
    try {
      const input = await checkAgainst(options.input, decodePayload(payload), { definition, part: 'input' });
      const returned = await handler(ctx, input);
      const output = await checkAgainst(options.output, returned, { definition, part: 'output' });
      return activityResult(name, output, maxPayloadBytes);
    } catch (thrown) {
      return { ok: false, message: activityFailureText(name, thrown) };
    }
  };
}

/** An orchestration as the engine drives it. `host` is the one of the runtime that registers it. */
export function asyncOrchestration<In, Out>(
  definition: Orchestration<In, Out>,
  host: AsyncHost,
  logger: Logger,
): CreateDriver {
  return (port, info) =>
    new AsyncDriver(host, port, info, (asyncPort) => runOrchestration(definition, asyncPort, logger));
}

async function runOrchestration<In, Out>(
  { name, options, handler }: Orchestration<In, Out>,
  port: AsyncPort,
  logger: Logger,
): Promise<DriverOutcome> {
  const definition = `orchestration '${name}'`;
  try {
    const input = checkAgainstNow(options.input, decodePayload(port.info.input), { definition, part: 'input' });
    const returned = await handler(new OrchestrationContext(port, logger), input);
    const output = checkAgainstNow(options.output, returned, { definition, part: 'output' });
    return { kind: 'output', output: encodePayload(output, `output of ${definition}`) };
  } catch (thrown) {
    return { kind: 'error', message: failureText(thrown) };
  }
}

/** As the drop-in API words it: the stack of an error, else its text (node-api.md 8.2). */
function failureText(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.stack ?? String(thrown);
  return String(thrown);
}
