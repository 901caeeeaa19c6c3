// For `node --import`: every module that the program loads is named on stderr, as `loaded <url>`.
import { register } from 'node:module';

const hooks = `import { writeSync } from 'node:fs';
export async function load(url, context, next) {
  writeSync(2, 'loaded ' + url + '\\n');
  return next(url, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
