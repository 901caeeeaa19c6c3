// Fan-out and fan-in: many activities at once, one answer.
//
//     node examples/fan-out.mjs
import { Client, Runtime } from 'duroxide-drizzle';
import { newId, withStore } from './store.mjs';

const TEXTS = ['the quick brown fox', 'jumps over', 'the lazy dog', 'and is gone'];

await withStore(async (provider) => {
  const runtime = new Runtime(provider);
  runtime.registerActivity('CountWords', (ctx, text) => {
    if (text.includes('lazy')) throw new Error('will not count this one');
    return text.split(' ').length;
  });

  runtime.registerOrchestration('CountAll', function* (ctx, texts) {
    const results = yield ctx.all(texts.map((text) => ctx.scheduleActivity('CountWords', text)));
    // Every entry is `{ ok }` or `{ err }`, in the order of the tasks: one failure loses nothing.
    return {
      words: results.reduce((sum, { ok }) => sum + (ok ?? 0), 0),
      failures: results.filter((result) => 'err' in result).length,
    };
  });

  await runtime.start();
  const client = new Client(provider);
  const id = newId('fan-out');
  await client.startOrchestration(id, 'CountAll', TEXTS);
  const { output } = await client.waitForOrchestration(id, 30_000);
  console.log(`${TEXTS.length} texts, ${output.words} words counted, ${output.failures} refused`);
  await runtime.shutdown();
});
