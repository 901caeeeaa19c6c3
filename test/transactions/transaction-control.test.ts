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
    // Comments nest, and end with the line, whichever way that ends.
    ['/* a /* b */ c */ commit', 'COMMIT'],
    ['/*/* */*/commit/* */', 'COMMIT'],
    ['start/**/transaction', 'START TRANSACTION'],
    ['select 1 -- a\r; commit', 'COMMIT'],
    // Inside of a word nothing begins.
    ['select 1 as a$$; commit; select 1 as b$$', 'COMMIT'],
    ['select 1 as a$x$; commit; select 1 as b$x$', 'COMMIT'],
    ['select 1 as é$$; commit; select 1 as b$$', 'COMMIT'],
    ["select date'\\'; commit; --'", 'COMMIT'],
    // A parameter is no tag.
    ['select $1$2; commit; select $1$2', 'COMMIT'],
    // Only E'' knows backslashes, on its further lines, too.
    ["select '\\'; commit; --'", 'COMMIT'],
    ["select U&'\\'; commit; --'", 'COMMIT'],
    ["select N'\\'; commit; --'", 'COMMIT'],
    ["select e'\\\\'; commit; --'", 'COMMIT'],
    ["select E'a' '\\'; commit; --'", 'COMMIT'],
    ["select E'a'\n'\\'; select '; commit; --'", 'COMMIT'],
    ['select U&"a"";"; commit', 'COMMIT'],
    ['select $a$ $b$ $a$; commit', 'COMMIT'],
    // A body in SQL is one only where a routine is made, and up to its END.
    ["select 'begin atomic'; commit; begin", 'COMMIT'],
    ['select 1 as "begin atomic"; commit', 'COMMIT'],
    ['select 1 /* begin atomic */; commit', 'COMMIT'],
    ['begin atomic', 'BEGIN'],
    ['create function f() returns int begin atomic select 1; end; commit', 'COMMIT'],
    ['create function f() returns int begin atomic select 1 case; end; commit', 'COMMIT'],
    ['create procedure p() begin atomic end; commit', 'COMMIT'],
    ["create function f(begin atomic) returns int language sql as 'select 1'; commit", 'COMMIT'],
    ["create function begin() returns int language sql as 'select 1'; commit", 'COMMIT'],
    ['create table t (id int); commit', 'COMMIT'],
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
    '/* a /* b */ ; commit; */ select 1',
    '/* ; commit; /* */ ; commit',
    "select E'\\'; commit; --'",
    "select E'a'\n'\\'; commit; --'",
    "select E'a' -- a note\n  '\\'; commit; --'",
    "select ''';commit;'''",
    'select "a"";commit;"',
    'select $a$; commit; $b$; commit; $$ $a$',
    'select $é1$; commit; $é1$',
    'select 1;commit$x',
    'select 1;\u00a0commit',
    'create or replace procedure p() begin atomic insert into t values (1); select case when true then 1 end; end',
    'create function f(a int default (1)) returns int begin/**/atomic select 1 as "end"; select 2; END; select 1',
    'create procedure p() begin atomic end; select 1',
  ])('%j is none', (sql) => {
    expect(transactionControl(sql)).toBeUndefined();
  });
});
