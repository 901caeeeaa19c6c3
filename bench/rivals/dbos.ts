import { DBOS } from '@dbos-inc/dbos-sdk';
import type { OpenContestant } from './contestant.js';

/** A workflow with one step, started in the process that runs it. */
export const openDbos: OpenContestant = async (url) => {
  DBOS.setConfig({
    name: 'hello',
    systemDatabaseUrl: url,
    logLevel: 'error',
    runAdminServer: false,
    systemDatabasePoolSize: 20,
  });
  const hello = DBOS.registerWorkflow(
    async (who: string) => DBOS.runStep(() => Promise.resolve(who), { name: 'echo' }),
    { name: 'hello' },
  );
  await DBOS.launch();
  return {
    name: 'DBOS',
    async hello(id) {
      const handle = await DBOS.startWorkflow(hello, { workflowID: id })('world');
      await handle.getResult();
    },
    close: () => DBOS.shutdown(),
  };
};
