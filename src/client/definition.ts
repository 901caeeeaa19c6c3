import type { StandardSchema } from '../wire/standard-schema.js';

/** What a client needs to know of an orchestration; what `orchestration(…)` and `declareOrchestration(…)` return is one. */
export interface OrchestrationReference<In, Out> {
  readonly kind: 'orchestration';
  readonly name: string;
  readonly options: {
    readonly version?: string | undefined;
    readonly input?: StandardSchema<In, unknown> | undefined;
    readonly output?: StandardSchema<unknown, Out> | undefined;
  };
}

/** An external event, or a mailbox, with the type of its data. */
export interface EventDefinition<Sent, Received = Sent> {
  readonly kind: 'event';
  readonly name: string;
  readonly data?: StandardSchema<Sent, Received> | undefined;
}

/** The argument for an input of this type; it may be left out where it carries nothing. */
export type InputArgument<In> = [In] extends [void]
  ? [input?: undefined]
  : undefined extends In
    ? [input?: In]
    : [input: In];
