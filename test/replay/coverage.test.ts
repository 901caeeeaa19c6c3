import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from '@jest/globals';

/** How many lines each group of the runtime checklist has, for the groups that the engine decides. */
const GROUPS: Readonly<Record<string, number>> = {
  FR: 12,
  RP: 20,
  MC: 15,
  ID: 10,
  RF: 5,
  AE: 16,
  ND: 28,
  DH: 28,
  FF: 17,
  CN: 22,
  DF: 30,
  JR: 27,
  TM: 10,
  EV: 14,
  QE: 20,
  SO: 14,
  CA: 17,
  RT: 22,
  SC: 9,
  CS: 11,
  KV: 27,
};

const RUST = 'exists only in Rust';
const DISPATCH = 'decided by dispatchers, registry or provider: no engine is asked';
const WORKER = 'about running activities';
const END_TO_END = 'only an end-to-end run can show it';

/** Lines that the engine cannot show, and why. */
const NOT_HERE: Readonly<Record<string, string>> = {
  'ND-21': `${END_TO_END}; the decision is ND-01 to ND-05`,
  'FF-11': `typed activities: ${RUST}`,
  'FF-12': `typed events: ${RUST}`,
  'FF-16': DISPATCH,
  'CN-11': DISPATCH,
  'CN-17': WORKER,
  'CN-18': WORKER,
  'CN-19': WORKER,
  'CN-20': WORKER,
  'DF-26': `drop at the end of a scope: ${RUST}`,
  'DF-27': `drop at the end of a scope: ${RUST}`,
  'TM-01': `${END_TO_END}: the queue delays the message`,
  'TM-07': `${DISPATCH}; the engine's part is DH-09 to DH-14`,
  'EV-12': DISPATCH,
  'QE-15': DISPATCH,
  'SO-04': DISPATCH,
  'SO-06': DISPATCH,
  'SO-07': DISPATCH,
  'CA-06': DISPATCH,
  'CA-07': DISPATCH,
  'CA-11': END_TO_END,
  'CA-12': WORKER,
  'CA-13': WORKER,
  'CA-17': WORKER,
  'RT-16': `typed retries: ${RUST}`,
  'SC-08': END_TO_END,
  'SC-09': DISPATCH,
  'KV-01': DISPATCH,
  'KV-02': DISPATCH,
  'KV-16': `${END_TO_END}; the descriptor is in the generator's tests`,
  'KV-17': END_TO_END,
  'KV-18': DISPATCH,
  'KV-19': DISPATCH,
  'KV-23': DISPATCH,
  'KV-25': END_TO_END,
  'KV-26': END_TO_END,
};

function titles(): string {
  return ['test/replay', 'test/runtime/generator']
    .flatMap((folder) => readdirSync(folder).map((file) => path.join(folder, file)))
    .filter((file) => file.endsWith('.test.ts') && !file.endsWith('coverage.test.ts'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
}

describe('the checklist of the runtime', () => {
  const tested = new Set(Array.from(titles().matchAll(/R:([A-Z]{2}-\d\d)/g), ([, id]) => id));
  const lines = Object.entries(GROUPS).flatMap(([group, count]) => {
    return Array.from({ length: count }, (_, i) => `${group}-${String(i + 1).padStart(2, '0')}`);
  });

  test('every line is tested here, or there is a reason why not', () => {
    expect(lines.filter((id) => !tested.has(id) && !(id in NOT_HERE))).toEqual([]);
  });
  test('no reason is out of date', () => {
    expect(Object.keys(NOT_HERE).filter((id) => tested.has(id) || !lines.includes(id))).toEqual([]);
  });
});
