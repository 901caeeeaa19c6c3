/**
 * A stored text could not be understood. The message names the place and what was
 * expected there, never the content: stored texts hold payloads of users.
 */
export class WireError extends Error {
  override readonly name = 'WireError';
}
