import { failureDataOf } from '../client/remote-error.js';
import type { ActivityHandler as RuntimeActivityHandler } from '../runtime/activity-handler.js';
import { activityFailureText, activityResult } from '../runtime/activity-failure.js';
import type { AsyncPort } from '../runtime/async/async-driver.js';
import { AsyncDriver } from '../runtime/async/async-driver.js';
import type { RegisteringRuntime } from '../runtime/registrable.js';
import type { CreateDriver, DriverOutcome } from '../runtime/replay/driver.js';
import { decodePayload, encodePayload } from '../wire/payload.js';
import { checkAgainst, checkAgainstNow } from '../wire/standard-schema.js';
import type { Activity, Orchestration } from './definitions.js';
import { isSteps, runSteps } from './generator-steps.js';
import { OrchestrationContext } from './orchestration-context.js';

/** What of a definition runs. */
type Code<Definition extends { readonly handler: unknown }> = Pick<Definition, 'handler'> &
  (Definition extends { readonly name: string; readonly options: infer Options }
    ? { readonly name: string; readonly options: Options }
    : never);

/**
 * An activity as the runtime runs it: JSON in, schema, handler, schema, JSON out. A
 * refused value is a failure of the activity like any other that its handler throws.
 */
export function typedActivity<In, Out, Parsed, Returned>({
  name,
  options,
  handler,
}: Code<Activity<In, Out, Parsed, Returned>>): RuntimeActivityHandler {
  const definition = `activity '${name}'`;
  return async (ctx, payload, maxPayloadBytes) => {
    try {
      const input = await checkAgainst(options.input, decodePayload(payload), { definition, part: 'input' });
      const returned = await handler(ctx, input);
      const output = await checkAgainst(options.output, returned, { definition, part: 'output' });
      return activityResult(name, output, maxPayloadBytes);
    } catch (thrown) {
      return { ok: false, message: activityFailureText(name, thrown), failure: failureDataOf(thrown) };
    }
  };
}

/** An orchestration as the engine drives it, for the runtime that registers it. */
export function asyncOrchestration<In, Out, Parsed, Returned>(
  code: Code<Orchestration<In, Out, Parsed, Returned>>,
  { host, logger }: RegisteringRuntime,
): CreateDriver {
  let hasWarned = false;
  return (port, info) => {
    const { instance, executionId, name } = info;
    const about = { instanceId: instance, executionId, orchestrationName: name };
    return new AsyncDriver(
      host,
      port,
      info,
      (asyncPort) => runOrchestration(code, asyncPort, new OrchestrationContext(asyncPort, logger)),
      {
        lostRejection: (error) =>
          logger.warn({ ...about, error }, 'an orchestration ended with a rejected promise that it never awaited'),
        foreignAwait: (error) =>
          logger.error({ ...about, error }, 'an orchestration went on outside its turn; its next turn is put off'),
        rawCall: ({ what, instead, place }) => {
          // Once for a definition, however often its turns are replayed.
          if (hasWarned) return;
          hasWarned = true;
          logger.warn(
            { ...about, place },
            `an orchestration calls ${what}, which gives another value on each replay; use ${instead}`,
          );
        },
      },
    );
  };
}

async function runOrchestration<In, Out, Parsed, Returned>(
  { name, options, handler }: Code<Orchestration<In, Out, Parsed, Returned>>,
  port: AsyncPort,
  context: OrchestrationContext,
): Promise<DriverOutcome> {
  const definition = `orchestration '${name}'`;
  try {
    const input = checkAgainstNow(options.input, decodePayload(port.info.input), { definition, part: 'input' });
    const made = handler(context, input);
    const returned = await (isSteps(made) ? runSteps(made) : made);
    const output = checkAgainstNow(options.output, returned, { definition, part: 'output' });
    return { kind: 'output', output: encodePayload(output, `output of ${definition}`) };
  } catch (thrown) {
    return { kind: 'error', message: failureText(thrown), failure: failureDataOf(thrown) };
  }
}

/** As the drop-in API words it: the stack of an error, else its text (node-api.md 8.2). */
function failureText(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.stack ?? String(thrown);
  return String(thrown);
}
