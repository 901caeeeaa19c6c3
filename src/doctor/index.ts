export { checkInvariants, type InvariantOptions } from './check-invariants.js';
export type { CheckedCounts, InvariantName, InvariantReport, InvariantViolation, QuarantinedRow } from './report.js';
