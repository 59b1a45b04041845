#!/usr/bin/env node
import { writeFileSync } from 'node:fs';
import * as http from 'node:http';
import { parseArgs } from 'node:util';
import { readArguments, USAGE } from './arguments.js';
import { forwardDeliveries } from './forward-deliveries.js';
import { payloadTypes } from './payload-types.js';
import { RelayClient } from './relay-client.adapter.js';

// `npx @partner-relay/client listen` and `types`
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const ending = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => ending.abort());
process.stdout.on('error', () => ending.abort());

// HTTP_PROXY, HTTPS_PROXY and NO_PROXY as for curl, if Node is new enough; this machine itself is called directly.
const direct = ['localhost,127.0.0.1,[::1]', process.env['no_proxy'] ?? process.env['NO_PROXY']].join(',');
try {
  if ('setGlobalProxyFromEnv' in http)
    http.setGlobalProxyFromEnv({ ...process.env, NO_PROXY: direct, no_proxy: direct });
} catch {
  say('warning: HTTP_PROXY or HTTPS_PROXY is not the URL of a proxy, so none is used');
}

const given = readArguments(
  (options) => parseArgs({ args: process.argv.slice(2), allowPositionals: true, options }),
  process.env,
);
if ('help' in given) process.stdout.write(`${USAGE}\n`);
else if ('fault' in given) {
  say(`error: ${given.fault}\n\n${USAGE}`);
  process.exitCode = 2;
} else
  try {
    if ('out' in given) {
      const text = await payloadTypes(given.url, ending.signal);
      if (given.out === undefined) process.stdout.write(text);
      else writeFileSync(given.out, text);
    } else {
      const { settings, types, forwardTo, json } = given;
      const print = (value: object, text: string): void => {
        if (process.stdout.errored === null) process.stdout.write(`${json ? JSON.stringify(value) : text}\n`);
      };
      await forwardDeliveries(new RelayClient(settings), { types, forwardTo, print, signal: ending.signal });
    }
  } catch (error) {
    say(`error: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
