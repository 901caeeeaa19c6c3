import type { TransactionScope } from '../provider/provider.js';
import { cancelMessage, signalMessage, startMessage } from './messages.js';

/**
 * The part of a client that writes, inside a caller's transaction. Each statement is
 * issued in the tick of its call, so that even a forgotten `await` is ordered before the
 * caller's COMMIT or ROLLBACK; after the end a call rejects with `TransactionEndedError`.
 */
export class TransactionClient {
  /** @internal use `client.withTransaction(tx)` */
  constructor(
    private readonly scope: TransactionScope,
    private readonly maxPayloadBytes: number,
  ) {}

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
