/** What the doctor says about one thing. `problem` makes the command exit with 7. */
export interface DoctorFinding {
  readonly check: string;
  readonly level: 'ok' | 'info' | 'warning' | 'problem';
  readonly text: string;
  readonly advice?: string;
}
