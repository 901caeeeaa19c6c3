/** Somebody who runs a hello: one durable workflow with one step, or a plain job where there are no workflows. */
export interface Contestant {
  readonly name: string;
  /** Starts one hello and resolves when its result is there. */
  hello(id: string): Promise<void>;
  close(): Promise<void>;
}

/** Opens a contestant on an empty database of its own. */
export type OpenContestant = (url: string) => Promise<Contestant>;
