import {
  type CheckedCounts,
  INVARIANT_NAMES,
  type InvariantName,
  type InvariantReport,
  type InvariantViolation,
  type QuarantinedRow,
} from './report.js';

/** The details of a violation, without the name of the promise. */
export type Finding = Omit<InvariantViolation, 'invariant'>;

type Counts = { -readonly [K in keyof CheckedCounts]: number };

/**
 * Collects what a check finds, up to a bound; counts go on beyond it. One per page, so that
 * a page that is read again after a lost connection reports nothing twice.
 */
export class Findings {
  private readonly violations: InvariantViolation[] = [];
  private readonly quarantined: QuarantinedRow[] = [];
  private readonly counts = Object.fromEntries(INVARIANT_NAMES.map((name) => [name, 0])) as Record<
    InvariantName,
    number
  >;
  private quarantinedCount = 0;
  private readonly seen: Counts = {
    instances: 0,
    events: 0,
    orchestratorRows: 0,
    workerRows: 0,
    locks: 0,
    replayed: 0,
    notReplayed: 0,
  };

  constructor(private readonly most: number) {}

  report(invariant: InvariantName, finding: Finding): void {
    this.counts[invariant] += 1;
    if (this.violations.length < this.most) this.violations.push({ invariant, ...finding });
  }

  listQuarantined(row: QuarantinedRow): void {
    this.quarantinedCount += 1;
    if (this.quarantined.length < this.most) this.quarantined.push(row);
  }

  checked(what: keyof CheckedCounts, howMany = 1): void {
    this.seen[what] += howMany;
  }

  /** How much was looked at so far. */
  get counted(): CheckedCounts {
    return { ...this.seen };
  }

  /** Takes over what another collector found. */
  add(page: Findings): void {
    for (const name of INVARIANT_NAMES) this.counts[name] += page.counts[name];
    for (const what of Object.keys(this.seen) as (keyof Counts)[]) this.seen[what] += page.seen[what];
    this.quarantinedCount += page.quarantinedCount;
    for (const violation of page.violations.slice(0, this.most - this.violations.length))
      this.violations.push(violation);
    for (const row of page.quarantined.slice(0, this.most - this.quarantined.length)) this.quarantined.push(row);
  }

  toReport(schema: string): InvariantReport {
    return {
      ok: INVARIANT_NAMES.every((name) => this.counts[name] === 0),
      schema,
      violations: this.violations,
      violationCounts: this.counts,
      quarantined: this.quarantined,
      quarantinedCount: this.quarantinedCount,
      checked: this.seen,
    };
  }
}
