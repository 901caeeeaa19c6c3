import { describe, expect, test } from '@jest/globals';
import { transactionControl } from '../../src/provider/drizzle/activity-transaction/transaction-control.js';

describe('statements that end or begin a transaction by hand', () => {
  test.each([
    ['commit', 'COMMIT'],
    ['  COMMIT AND CHAIN', 'COMMIT'],
    ['/* a note */ rollback', 'ROLLBACK'],
    ['-- a note\nabort', 'ABORT'],
    ['end', 'END'],
    ['begin', 'BEGIN'],
    ['start  transaction read only', 'START TRANSACTION'],
    ["prepare transaction 'x'", 'PREPARE TRANSACTION'],
    ["insert into t values (';'); commit", 'COMMIT'],
    ["select E'it\\'s'; rollback", 'ROLLBACK'],
    ['rollback work', 'ROLLBACK'],
  ])('%j is %s', (sql, command) => {
    expect(transactionControl(sql)).toBe(command);
  });

  test.each([
    'select 1',
    'savepoint a',
    'release savepoint a',
    'rollback to savepoint a',
    'ROLLBACK WORK TO a',
    "select '; commit'",
    'select "commit" from t',
    'select case when true then 1 end',
    'do $$ begin perform 1; end $$',
    "do $x$ begin raise notice '$$; commit;'; end $x$",
    'select 1 -- ; commit',
    'select 1 /* ; commit ; */',
    'create function f() returns int begin atomic select 1; end',
    'prepare q as select 1',
  ])('%j is none', (sql) => {
    expect(transactionControl(sql)).toBeUndefined();
  });
});
