import { spawnSync } from 'node:child_process';
import { describe, expect, test } from '@jest/globals';

// In processes of their own: Jest handles unhandled rejections itself.
describe('R:3.0 rule 5: rejections', () => {
  const run = (what: string, ...flags: string[]) =>
    spawnSync(process.execPath, [...flags, '--import', 'tsx', 'test/runtime/async/rejections.ts', what], {
      encoding: 'utf8',
    });

  test('one that the code awaits later never ends the process, and Node does not warn of it', () => {
    const { status, stdout, stderr } = run('late');
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'late TypeError\n', stderr: '' });
  });

  test('one that an orchestration never awaits is reported when it ends', () => {
    const { status, stdout, stderr } = run('lost');
    expect({ status, stdout, stderr }).toEqual({
      status: 0,
      stdout: 'without it\nwarning: an orchestration ended with a rejected promise that it never awaited\n',
      stderr: '',
    });
  });

  test('one that belongs to nobody still ends the process', () => {
    const { status, stdout, stderr } = run('stray');
    expect(status).toBe(1);
    expect(stderr).toContain('a stray rejection');
    expect(stdout).toBe('');
  });

  test('Node is told to warn only: then it does that', () => {
    const { status, stdout, stderr } = run('stray', '--unhandled-rejections=warn');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^late TypeError\n/);
    expect(stderr).toContain('a stray rejection');
  });
});
