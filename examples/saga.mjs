// A saga: steps that each have an undo. When one fails for good, what was done before is
// undone in reverse order, also if the process dies in the middle of it.
//
//     node examples/saga.mjs
import { Client, Runtime } from 'duroxide-drizzle';
import { newId, withStore } from './store.mjs';

const STEPS = [
  { act: 'BookFlight', undo: 'CancelFlight' },
  { act: 'BookHotel', undo: 'CancelHotel' },
  { act: 'BookCar', undo: 'CancelCar' },
];

await withStore(async (provider) => {
  const runtime = new Runtime(provider);
  for (const name of ['BookFlight', 'CancelFlight', 'BookHotel', 'CancelHotel', 'CancelCar']) {
    runtime.registerActivity(name, (ctx, trip) => console.log(`  ${name} for ${trip}`));
  }
  runtime.registerActivity('BookCar', () => {
    console.log('  BookCar fails');
    throw new Error('no cars left');
  });

  runtime.registerOrchestration('Trip', function* (ctx, trip) {
    const done = [];
    try {
      for (const step of STEPS) {
        yield ctx.scheduleActivityWithRetry(step.act, trip, { maxAttempts: 2, backoff: 'exponential' });
        done.push(step);
      }
      return 'booked';
    } catch (error) {
      for (const step of done.reverse()) yield ctx.scheduleActivity(step.undo, trip);
      return `undone: ${error.message}`;
    }
  });

  await runtime.start();
  const client = new Client(provider);
  const id = newId('trip');
  await client.startOrchestration(id, 'Trip', 'Lisbon');
  const { output } = await client.waitForOrchestration(id, 30_000);
  console.log(`${id}: ${output}`);
  await runtime.shutdown();
});
