// Sums the results of Jest runs (`--json --outputFile`) in a folder into one plain line.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const [folder = '.'] = process.argv.slice(2);
const total = { passed: 0, failed: 0, skipped: 0 };
for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
  const results = JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
  total.passed += results.numPassedTests;
  // A file that could not be loaded has no tests to fail, and must not pass unseen.
  total.failed += results.numFailedTests + results.numRuntimeErrorTestSuites;
  total.skipped += results.numPendingTests + results.numTodoTests;
}
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
