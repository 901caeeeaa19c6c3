interface Waiter {
  resolve(password: string): void;
  reject(error: Error): void;
}

/** Asks the event loop for passwords that a function of the application's gives. */
export class PasswordLine {
  private waiting: Waiter[] = [];

  constructor(private readonly send: () => void) {}

  /** Answered when the event loop gets to it: only a new connection waits for it. */
  ask(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      if (this.waiting.length === 1) this.send();
    });
  }

  answer(password: string): void {
    for (const waiter of this.waiting.splice(0)) waiter.resolve(password);
  }

  refuse(reason: string): void {
    for (const waiter of this.waiting.splice(0)) waiter.reject(new Error(reason));
  }
}
