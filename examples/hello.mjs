// The smallest durable program: an orchestration that calls one activity.
//
//     node examples/hello.mjs
import { Client, Runtime } from 'duroxide-drizzle';
import { newId, withStore } from './store.mjs';

await withStore(async (provider) => {
  const runtime = new Runtime(provider);

  // An activity does the work. It may take time and touch the world, and runs at least once.
  runtime.registerActivity('Greet', async (ctx, name) => `Hello, ${name}!`);

  // An orchestration decides what happens next. It is run again from the start after a crash,
  // and every `yield` then gives what it gave before.
  runtime.registerOrchestration('Hello', function* (ctx, input) {
    return yield ctx.scheduleActivity('Greet', input.name);
  });

  await runtime.start();
  const client = new Client(provider);
  const id = newId('hello');
  await client.startOrchestration(id, 'Hello', { name: 'World' });
  const { status, output } = await client.waitForOrchestration(id, 30_000);
  console.log(`${id}: ${status}, ${output}`);
  await runtime.shutdown();
});
