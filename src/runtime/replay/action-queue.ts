import type { RecordedAction } from './recorded-action.js';

/** First in, first out, without moving the rest at each step. */
export class ActionQueue {
  private items: RecordedAction[] = [];
  private head = 0;

  get length(): number {
    return this.items.length - this.head;
  }

  push(action: RecordedAction): void {
    this.items.push(action);
  }

  peek(): RecordedAction | undefined {
    return this.items[this.head];
  }

  shift(): RecordedAction | undefined {
    const action = this.items[this.head];
    if (!action) return undefined;
    this.head++;
    if (this.head === this.items.length) {
      this.items = [];
      this.head = 0;
    }
    return action;
  }
}
