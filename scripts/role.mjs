// npm run start:<role>, npm run relay: one role of the built code in the foreground, dev.env under the environment's own variables.
// In development the command line asks as a client of demo.env, so that nobody types credentials.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { demoClient } from './lib/demo.mjs';
import { readDevEnv } from './lib/dev-env.mjs';
import { appMain, home, node24 } from './lib/paths.mjs';
import { run } from './lib/process.mjs';

const [role, ...args] = process.argv.slice(2);
const main = appMain(role ?? '');

if (!existsSync(main)) {
  console.error(
    `error: ${role ?? 'no role'} is not built: npm run build. Usage: node scripts/role.mjs ingress|worker|operations|cli …`,
  );
  process.exit(1);
}
const settings = { ...readDevEnv(home), ...process.env };
// Redis is said to be elsewhere in another way.
if (process.env.REDIS_SENTINELS || process.env.REDIS_CLUSTER_NODES) delete settings.REDIS_URL;

const hasNode24 = Number.parseInt(process.versions.node, 10) >= 24;

/** As whom a command asks, unless the environment says so or its arguments do. */
const asks = { send: 'source', listen: 'partner' };
const OPERATORS =
  /^(?:partners|sources|operators|webhooks|notices|event-types|envelopes|deliveries|dead-letters|replay|audit)$/;
const isAsking = role === 'cli' && settings.RELAY_ENV === 'development';
const kind = isAsking ? (asks[args[0]] ?? (OPERATORS.test(args[0]) ? 'operator' : undefined)) : undefined;
const name = kind === 'operator' ? 'OPERATOR' : 'RELAY';
const isNamed =
  settings[`${name}_CLIENT_ID`] || args.some((arg) => /^(?:--help|-h|--client-id|--api-key-file)\b/.test(arg));
if (kind && !isNamed) {
  const relay = (...line) =>
    run(hasNode24 ? process.execPath : node24, [main, ...line], { env: settings, capture: true });
  try {
    const { clientId, clientSecret } = await demoClient(home, settings.PUBLIC_URL, kind, relay);
    Object.assign(settings, { [`${name}_CLIENT_ID`]: clientId, [`${name}_CLIENT_SECRET`]: clientSecret });
  } catch (error) {
    console.error(error.output || `error: ${error.message}`);
    process.exit(1);
  }
}

if (hasNode24) {
  Object.assign(process.env, settings);
  process.argv.splice(1, Infinity, main, ...args);
  await import(pathToFileURL(main).href);
} else if (!existsSync(node24)) {
  console.error('error: Node 24 is missing: npm rebuild node --ignore-scripts=false brings it, as npm start does');
  process.exit(1);
} else {
  const child = spawn(node24, [main, ...args], { stdio: 'inherit', env: settings });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`error: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
