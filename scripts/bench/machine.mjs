// The machine of the figures, without its name or a path.
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { node24, root } from '../lib/paths.mjs';
import { run } from '../lib/process.mjs';
import { ENVELOPE_BYTES } from './envelopes.mjs';
import { redisInfo } from './system.mjs';

const busyBefore = loadavg()[0];

export async function machineOf(stack) {
  const pom = readFileSync(join(root, 'scripts', 'kafka', 'pom.xml'), 'utf8');
  return {
    processor: `${cpus().length} × ${cpus()[0].model}`,
    memory: `${(totalmem() / 2 ** 30).toFixed(1)} GiB`,
    kernel: `${type()} ${release()}`,
    node: (await run(node24, ['--version'], { capture: true })).trim(),
    kafka: /kafka_2\.13<\/artifactId>\s*<version>([^<]+)/.exec(pom)[1],
    redis: await redisInfo(stack, 'server', 'redis_version'),
    'load average before the run': `${busyBefore.toFixed(1)} (above 0.5 other work shared the cores: then the figures are no measure)`,
  };
}

export const settings = {
  relay: 'one ingress, one worker, built code, default settings, dedupe on',
  kafka: 'one broker, 6 partitions a topic, acks=all',
  redis: 'append-only file, appendfsync always, noeviction',
  envelopes: `${ENVELOPE_BYTES} bytes, task.created, random ids, Bearer token`,
  endpoints:
    'answer 200 at once on loopback; the load tool, the endpoints and the stores share the cores with the relay',
};
