import { expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import { guardedLogger } from '../../../src/base/logger.js';
import { ProviderError } from '../../../src/provider/provider-error.js';
import { RecordingLogger } from '../../support/waiting.js';

test('an error is logged without its cause, which may quote payloads', () => {
  const recording = new RecordingLogger();
  const cause = Object.assign(new Error('invalid input syntax: "secret value"'), { detail: 'Failing row: secret value' });
  const error = ProviderError.permanent('ack_worker', 'Database error: refused (SQLSTATE 22P02)', { cause });
  guardedLogger(recording).warn({ error, instance: 'x' }, 'failed');
  expect(inspect(recording.lines, { depth: 9 })).not.toContain('secret');
  expect(recording.lines[0]).toMatchObject({
    fields: { instance: 'x', error: { name: 'ProviderError', message: error.message } },
  });
});

test('C-33 a logger that throws stops nobody', () => {
  const broken = () => {
    throw new Error('disk full');
  };
  const logger = guardedLogger({ debug: broken, info: broken, warn: broken, error: broken });
  expect(() => logger.error({}, 'hello')).not.toThrow();
});
