// npm run stack -- up|down|status: Kafka and Redis in the background, for one home (RELAY_HOME, default .relay).
import { devEnvFile } from './lib/dev-env.mjs';
import { home } from './lib/paths.mjs';
import { Fault, script } from './lib/process.mjs';
import { down, status, up } from './lib/stack.mjs';

const commands = {
  async up(signal) {
    await up(home, { signal });
    await commands.status();
    console.log(`settings  ${devEnvFile(home)}`);
  },
  down: (signal) => down(home, { signal }),
  async status() {
    const rows = await status(home);
    for (const row of rows) {
      const what = {
        given: 'given by the environment',
        engine: `container (${row.engine})`,
        process: `process ${row.pid}`,
      }[row.how];
      console.log(`${row.name.padEnd(8)}  ${row.up ? `up    ${row.address}  ${what}` : 'down'}`);
    }
    return rows.every((row) => row.up) ? 0 : 1;
  },
};

await script((signal) => {
  const command = commands[process.argv[2]];
  if (!command) throw new Fault('usage: npm run stack -- up|down|status');
  return command(signal);
});
