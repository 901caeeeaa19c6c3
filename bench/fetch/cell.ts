/** One line of the results. */
export interface Cell {
  readonly backlog: number;
  readonly mode: 'fetch' | 'fetch + ack';
  readonly versionFilter: boolean;
  readonly delayMs: number;
  readonly fetchers: number;
  readonly contestant: string;
  readonly itemsPerSecond: number;
  /** Of native's function in the same rounds; absent without native. */
  readonly ofNative?: number;
  readonly callMsP50: number;
  readonly callMsP95: number;
  readonly serverCpuMs: number;
  readonly clientCpuMs: number;
  readonly rounds: number;
}
