import type { GeneratorOrchestration } from '../../src/runtime/generator/generator-driver.js';
import { generatorOrchestration } from '../../src/runtime/generator/generator-driver.js';
import type { TurnOutcome } from '../../src/runtime/replay/turn.js';
import type { TraceRecord } from '../../src/runtime/tracing/trace-record.js';
import type { WorkItem } from '../../src/wire/work-item.js';
import { message } from './history-builder.js';
import type { SimulationOptions } from './simulation.js';
import { Simulation } from './simulation.js';
import type { TurnOptions } from './turns.js';
import { outputOf, runTurn } from './turns.js';

/** One turn of a generator; `traces` collects what it writes. */
export function generatorTurn(
  fn: GeneratorOrchestration,
  options: TurnOptions = {},
  traces: TraceRecord[] = [],
): TurnOutcome {
  return runTurn({ driver: generatorOrchestration(fn, { writeTrace: (record) => void traces.push(record) }) }, options);
}

/** An instance of a generator in memory; each warm turn is compared with a cold one. */
export function generatorSimulation(
  fn: GeneratorOrchestration,
  options: Omit<SimulationOptions, 'driver'> = {},
): Simulation {
  const driver = generatorOrchestration(fn, { writeTrace: () => undefined });
  return new Simulation({ warm: true, verify: true, ...options, driver });
}

/**
 * Runs a generator to its end with activities that answer at once: with what `answer`
 * says, else with their own input. Timers fire, children answer with their input.
 */
export function runToEnd(
  fn: GeneratorOrchestration,
  {
    answer,
    first = [],
  }: { answer?: (name: string, input: string) => string | Error; first?: readonly WorkItem[] } = {},
): { sim: Simulation; output: unknown } {
  const sim = generatorSimulation(fn);
  sim.start(...first);
  for (let turns = 0; !sim.isOver && turns < 1000; turns++) {
    const items = [...sim.workerItems.splice(0), ...sim.orchestratorItems.splice(0)];
    const messages = items.flatMap((item): WorkItem[] => {
      switch (item.kind) {
        case 'ActivityExecute': {
          const answered = answer ? answer(item.name, item.input) : item.input;
          return answered instanceof Error
            ? [message.activityFailed(item.id, answered.message, sim.executionId)]
            : [message.activityDone(item.id, answered, sim.executionId)];
        }
        case 'TimerFired':
          return [item];
        case 'StartOrchestration':
          return item.parentId === null ? [] : [message.childDone(item.parentId, item.input, sim.executionId)];
        case 'ContinueAsNew':
          sim.orchestratorItems.push(item);
          return [];
        default:
          return [];
      }
    });
    if (sim.last?.result.kind === 'continuedAsNew') sim.continueAsNew();
    else sim.turn(...messages);
  }
  const last = sim.last;
  if (!last) throw new Error('nothing ran');
  return { sim, output: last.result.kind === 'completed' ? (JSON.parse(outputOf(last)) as unknown) : undefined };
}
