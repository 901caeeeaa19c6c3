import { UnsupportedError } from '../provider/provider-error.js';
import type { TransactionScope } from '../provider/provider.js';
import type { QueuedStart, QueueStartOutcome } from '../provider/start-queues.js';
import type { InputArgument, OrchestrationReference } from './definition.js';
import { InstanceExistsError } from './errors.js';
import type { HandleAccess } from './orchestration-handle.js';
import { OrchestrationHandle } from './orchestration-handle.js';
import type { StartOptions } from './start-options.js';
import { queuePlacement, typedStartMessage } from './start-options.js';
import { unknownQueue } from './start-queues.js';
import { cancelMessage, signalMessage, startMessage } from './messages.js';

/**
 * The part of a client that writes, inside a caller's transaction. What is called in one
 * tick is issued in that tick, so that even a forgotten `await` is ordered before the
 * caller's COMMIT or ROLLBACK; over node-postgres, what is called while earlier calls are
 * under way waits for their answer. After the end a call rejects with `TransactionEndedError`.
 */
export class TransactionClient {
  /** @internal use `client.withTransaction(tx)` */
  constructor(
    private readonly scope: TransactionScope,
    private readonly handles: HandleAccess,
  ) {}

  private get maxPayloadBytes(): number {
    return this.handles.maxPayloadBytes;
  }

  /**
   * Starts an instance of a definition and gives its handle, which finds the instance after
   * the commit. With `ifExists: 'error'` a start that waits in the queue exists, too, also
   * one of this transaction; other starts that say so wait until this transaction ends. At
   * REPEATABLE READ and above, what was committed after its first statement is not seen.
   * @throws as `client.start`; TransactionEndedError
   */
  async start<In, Out>(
    definition: OrchestrationReference<In, Out>,
    ...args: [...input: InputArgument<In>, options?: StartOptions | undefined]
  ): Promise<OrchestrationHandle<Out>> {
    const [input, options = {}] = args as unknown as [input?: In, options?: StartOptions | undefined];
    const item = typedStartMessage(definition, input, options, this.maxPayloadBytes);
    const placement = queuePlacement(options);
    if (placement) {
      const outcome = await this.queueStart({ ...placement, item });
      if (outcome === 'unknownQueue') throw unknownQueue(placement.queue);
      if (outcome === 'exists' && options.ifExists === 'error') {
        throw new InstanceExistsError(item.instance, definition.name);
      }
    } else if (options.ifExists === 'error') {
      const isNew = await this.scope.enqueueStartIfAbsent(item);
      if (!isNew) throw new InstanceExistsError(item.instance, definition.name);
    } else {
      await this.scope.enqueueForOrchestrator([{ item }]);
    }
    return new OrchestrationHandle<Out>(this.handles, item.instance);
  }

  private async queueStart(start: QueuedStart): Promise<QueueStartOutcome> {
    const outcome = await this.scope.queueStart?.(start);
    if (outcome === undefined) throw new UnsupportedError('this store keeps no start queues');
    return outcome;
  }

  async startOrchestration(instanceId: string, name: string, input?: unknown): Promise<void> {
    const item = startMessage({ instance: instanceId, name, input, version: null }, this.maxPayloadBytes);
    await this.scope.enqueueForOrchestrator([{ item }]);
  }

  async startOrchestrationVersioned(instanceId: string, name: string, input: unknown, version: string): Promise<void> {
    const item = startMessage({ instance: instanceId, name, input, version }, this.maxPayloadBytes);
    await this.scope.enqueueForOrchestrator([{ item }]);
  }

  async raiseEvent(instanceId: string, eventName: string, data?: unknown): Promise<void> {
    const item = signalMessage('ExternalRaised', { instance: instanceId, name: eventName, data }, this.maxPayloadBytes);
    await this.scope.enqueueForOrchestrator([{ item }]);
  }

  async enqueueEvent(instanceId: string, queueName: string, data?: unknown): Promise<void> {
    const item = signalMessage('QueueMessage', { instance: instanceId, name: queueName, data }, this.maxPayloadBytes);
    await this.scope.enqueueForOrchestrator([{ item }]);
  }

  async cancelInstance(instanceId: string, reason = ''): Promise<void> {
    await this.scope.enqueueForOrchestrator([
      { item: cancelMessage({ instance: instanceId, reason }, this.maxPayloadBytes) },
    ]);
  }
}
