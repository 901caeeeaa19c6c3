import { declareOrchestration, InstanceExistsError } from '../../../../src/index.js';
import { persist, wasInDoubt } from '../persist.js';
import { isLostTransaction } from './transactions.js';
import { type Deed, inTransaction, type Instances, type Stage } from './deed.js';

const sole = declareOrchestration<string, string>('sole');
const CONTENDERS = ['a', 'b', 'c', 'd'] as const;
type Outcome = 'passed' | 'refused' | 'in doubt';

/** Several callers start one id and say `ifExists: 'error'`: one of them passes, and its input is what runs. */
export class ExclusiveStarts implements Deed {
  private readonly outcomes = new Map<string, ReadonlyMap<string, Outcome>>();
  private readonly running = new Set<string>();

  constructor(private readonly stage: Stage) {}

  async begin(number: number): Promise<void> {
    const id = `sole-${number}`;
    this.running.add(id);
    const outcomes = await Promise.all(CONTENDERS.map(async (who) => [who, await this.contend(id, who)] as const));
    this.outcomes.set(id, new Map(outcomes));
  }

  async tend(instances: Instances): Promise<void> {
    for (const id of this.running) if (instances.get(id)?.status === 'Completed') this.running.delete(id);
  }

  open(): readonly string[] {
    return [...this.running];
  }

  async problems(instances: Instances): Promise<string[]> {
    const problems: string[] = [];
    for (const [id, outcomes] of this.outcomes) {
      const those = (outcome: Outcome) => CONTENDERS.filter((who) => outcomes.get(who) === outcome);
      const [passed, inDoubt] = [those('passed'), those('in doubt')];
      if (passed.length > 1) problems.push(`${id}: the starts of ${passed.join(' and ')} passed`);
      if (passed.length + inDoubt.length === 0) problems.push(`${id}: no start passed`);
      const winner = instances.get(id)?.output ?? '';
      const mayHaveWon = passed.length === 1 ? passed : inDoubt;
      if (!mayHaveWon.some((who) => winner === JSON.stringify(who))) {
        problems.push(`${id} ended with ${winner}, expected the input of ${mayHaveWon.join(' or ')}`);
      }
    }
    return problems;
  }

  /** Half of them in a transaction of the application. */
  private async contend(id: string, who: (typeof CONTENDERS)[number]): Promise<Outcome> {
    const { client } = this.stage;
    const options = { id, ifExists: 'error' } as const;
    const start =
      who < 'c'
        ? () => client.start(sole, who, options).then(() => {})
        : () =>
            inTransaction(this.stage, async (tx) => void (await client.withTransaction(tx).start(sole, who, options)));
    let mayHaveHappened = false;
    try {
      await persist(start, (error) => {
        if (who < 'c' || !isLostTransaction(error)) return false;
        // An application's own COMMIT says nothing about its outcome.
        mayHaveHappened = true;
        return true;
      });
      return 'passed';
    } catch (error) {
      if (!(error instanceof InstanceExistsError)) throw error;
      return mayHaveHappened || wasInDoubt(error) ? 'in doubt' : 'refused';
    }
  }
}
