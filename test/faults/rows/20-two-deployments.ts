import { setTimeout as delay } from 'node:timers/promises';
import { App } from '../../support/app.js';
import { postMany } from '../../support/post-many.js';
import { Relay } from '../../support/relay.js';
import { Servers } from '../../support/servers.js';
import { until } from '../../support/until.js';
import type { Fault } from '../engine/fault.js';
import { there } from '../engine/there.js';
import type { Trial } from '../engine/trial.js';

/** None of the load's: the second deployment has lived before, and its logs are not empty. */
const [TYPE, COUNT] = ['tax_return.filed', 400];
const BESIDE_MS = 15_000;
const LOOK_MS = 200;

const seconds = new WeakMap<Trial, Relay>();

/** A deployment of the same names and keys with brokers and a Redis of its own, stopped after it has delivered something. */
async function prepare(trial: Trial): Promise<void> {
  const { KAFKA_TOPIC_PREFIX = '', KAFKA_CONSUMER_GROUP = '', ENCRYPTION_KEYS = '' } = trial.stack.env;
  const servers = await Servers.start(process.env['RELAY_FAULTS_HOME']);
  trial.atEnd(() => servers.end());
  const second = await Relay.start({ KAFKA_TOPIC_PREFIX, KAFKA_CONSUMER_GROUP, ENCRYPTION_KEYS }, servers.envFile);
  seconds.set(trial, second);
  const [partner, source] = [await second.partner('other'), await second.source('other')];
  await partner.register({ eventType: TYPE, endPointUrl: second.receiver.url('/its'), apiKey: 'k' });
  await postMany(source, COUNT, TYPE);
  await until('its own are delivered', () => new Set(second.receiver.delivered('/its')).size === COUNT);
  await Promise.all([second.worker.stop(), second.ingress.stop()]);
}

/** Looks at both for as long as the second runs. @throws Error when the second becomes ready, or the first does not stay so */
async function standBeside(trial: Trial, apps: readonly App[]): Promise<void> {
  const since = performance.now();
  while (performance.now() - since < BESIDE_MS) {
    for (const app of apps)
      if ((await app.health())?.status === 'ok') throw new Error(`the ${app.role} of the second deployment is ready`);
    for (const app of trial.apps)
      if ((await app.health())?.status !== 'ok')
        throw new Error(`the ${app.role} of the first deployment is not ready`);
    await delay(LOOK_MS);
  }
}

export const faults: readonly Fault[] = [
  {
    row: 20,
    name: 'two-deployments',
    does: `a second deployment with other brokers and the same topics, group and keys is started on the Redis of the first, and stays for ${BESIDE_MS / 1_000} s`,
    duplicates: 'none',
    prepare,
    run: async (trial) => {
      const second = there(seconds.get(trial), 'there is no second deployment');
      const { REDIS_URL = '' } = trial.stack.env;
      const env = { ...second.stack.env, REDIS_URL };
      await trial.anyMoment();
      const apps = await Promise.all((['worker', 'ingress'] as const).map((role) => App.launch(role, env)));
      try {
        for (const app of apps)
          await until(`the ${app.role} refuses`, async () =>
            (await app.health())?.faults['registry']?.includes('another deployment'),
          );
        await standBeside(trial, apps);
      } finally {
        await Promise.all(apps.map((app) => app.kill()));
        await second.close();
      }
      await trial.load.more(500);
    },
  },
];
