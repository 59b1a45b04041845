// Preloaded into a role (`node --import`): kills its own process with SIGKILL right before or after a step, by wrapping the
// boundary at which the step leaves the process. Nothing of it is in the product. SIGUSR2 arms it: the file that
// KILL_POINT_FILE names then holds `<point> <n> [<webhook-id>]`, the n-th time from now the point is reached. A file
// `….armed` says that it is.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { libs } from '../../scripts/lib/libs.mjs';
import { root } from '../../scripts/lib/paths.mjs';

const file = process.env.KILL_POINT_FILE;
const main = process.argv[1];
const require = createRequire(main);
// The very classes that the role uses: what `nest build` made of the libs beside it.
const built = (name) => relative(root, libs.get(`@relay/${name}`)).replace(/ts$/, 'js');
const lib = (name) => import(new URL(`../../../${built(name)}`, pathToFileURL(main)).href);

let armed;
process.on('SIGUSR2', () => {
  const [point, calls, only] = readFileSync(file, 'utf8').split(' ');
  armed = { point, left: Number(calls), only };
  writeFileSync(`${file}.armed`, '');
});

/** @param id the envelope's id, where the step is that of one envelope */
function reach(point, id) {
  if (armed?.point !== point || (armed.only && armed.only !== id)) return;
  armed.left -= 1;
  if (armed.left > 0) return;
  writeFileSync(`${file}.reached`, `${point} ${Date.now()} ${id ?? ''}`);
  process.kill(process.pid, 'SIGKILL');
}

/** @param nameOf the step that a call is; undefined when it is none */
function wrap(prototype, method, nameOf) {
  const original = prototype[method];
  if (typeof original !== 'function') throw new Error(`kill-point.mjs: there is no method ${method} to wrap any more`);
  prototype[method] = function (...args) {
    const step = nameOf(...args);
    if (step === undefined) return original.apply(this, args);
    reach(`before-${step}`);
    const result = original.apply(this, args);
    if (typeof result?.then !== 'function') return result;
    return result.then((value) => {
      reach(`after-${step}`);
      return value;
    });
  };
}

const Broker = require('kafkajs/src/broker');
wrap(Broker.prototype, 'produce', () => 'produce');
const ofNotices = ({ topic }) => topic.endsWith('relay.notices');
wrap(Broker.prototype, 'produce', ({ topicData }) => (topicData.some(ofNotices) ? 'notice' : undefined));
wrap(Broker.prototype, 'offsetCommit', () => 'commit');

const { RedisPartitionProgress } = await lib('progress');
wrap(RedisPartitionProgress.prototype, 'lookUp', () => 'look-up');
wrap(RedisPartitionProgress.prototype, 'flush', () => 'flush');
const { RedisSeenStore } = await lib('dedupe');
wrap(RedisSeenStore.prototype, 'markPublished', () => 'mark');

const { Queue, RedisQueueBackend } = require('bullmq');
wrap(Queue.prototype, 'addBulk', () => 'addBulk');
const steps = new Set(['moveToDelayed', 'moveToFinished']);
wrap(RedisQueueBackend.prototype, 'execCommand', (_client, command) => (steps.has(command) ? command : undefined));

const { HttpSender } = await lib('delivery');
const { send } = HttpSender.prototype;
HttpSender.prototype.send = async function (request, ...more) {
  const kind = request.headers['relay-attempt'] === '1' ? 'first' : 'queued';
  const id = request.headers['webhook-id'];
  reach(`before-${kind}-post`, id);
  const result = await send.call(this, request, ...more);
  if (result.kind === 'answered' && result.status < 300) reach(`after-${kind}-2xx`, id);
  return result;
};
