/** The runtime cannot start as it is set up; the message names what is wrong. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  /** As native reports it. */
  readonly code = 'GenericFailure';
}
