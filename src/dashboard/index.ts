export type { Dashboard } from './dashboard.js';
export { createDashboard } from './dashboard.js';
export type { DashboardOptions } from './options.js';
export type { RunningDashboard, StartDashboardOptions } from './start-dashboard.js';
export { startDashboard } from './start-dashboard.js';
export type { Access } from './views.js';
