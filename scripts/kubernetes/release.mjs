// The relay as a release of the chart: its values, its pods, and a load on it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { node24 } from '../lib/paths.mjs';
import { Fault, until } from '../lib/process.mjs';
import { chart } from './cluster.mjs';
import { ADDRESS } from './settings.mjs';

export const NAMESPACE = 'relay';
export const RELEASE = 'relay';
export const FULL_NAME = 'relay-partner-relay';
const ENDPOINT_PORT = 8088;
/** Two cores run the cluster, the stores and the load beside the relay. */
const RATE = 25;

/** The least that a development installation is told, beside where the load's endpoint is. */
export const developmentValues = (images) => ({
  existingSecret: 'relay-keys',
  image: { repository: images['partner-relay'].reference.split(':')[0], tag: images['partner-relay'].tag },
  development: {
    enabled: true,
    kafka: { image: images.kafka.reference },
    valkey: { image: images.valkey.reference },
  },
  // Of two cores there must be room for one pod more of each role.
  worker: { resources: { requests: { cpu: '250m' } } },
  networkPolicy: { extraEgress: [{ ports: [{ port: ENDPOINT_PORT }], to: [{ ipBlock: { cidr: `${ADDRESS}/32` } }] }] },
});

export function release(cluster, values) {
  const kubectl = (...args) => cluster.kubectl('-n', NAMESPACE, ...args);
  const json = (...args) => cluster.json('-n', NAMESPACE, ...args);
  const relay = async (...args) =>
    JSON.parse(await kubectl('exec', `deploy/${FULL_NAME}-ingress`, '--', 'relay', ...args, '--json'));
  const pods = async (role) => {
    const selector = `app.kubernetes.io/name=partner-relay${role ? `,app.kubernetes.io/component=${role}` : ''}`;
    return (await json('get', 'pods', '-l', selector)).items;
  };
  const ready = async (role) =>
    (await pods(role)).filter(
      ({ metadata, status }) =>
        !metadata.deletionTimestamp &&
        status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
    );
  let clients;
  return {
    kubectl,
    json,
    pods,
    ready,
    /** Helm's install or upgrade with changes over the values; resolves when all pods are ready. */
    async helm(command, changes = {}) {
      const files = Object.entries({ values, changes }).map(([name, content]) => {
        const file = join(cluster.home, `${name}.json`);
        writeFileSync(file, JSON.stringify(content));
        return `--values=${file}`;
      });
      await cluster.helm(command, RELEASE, chart, '-n', NAMESPACE, ...files, '--wait', '--timeout=5m');
    },
    /** Restarts of containers by pod, of all roles and stores. */
    async restarts() {
      const counts = (await pods()).map(({ metadata, status }) => [
        metadata.name,
        (status.containerStatuses ?? []).reduce((sum, one) => sum + one.restartCount, 0),
      ]);
      return Object.fromEntries(counts);
    },
    async allReady(role, count, withinMs = 180_000) {
      const isSo = async () => (await ready(role)).length === count && (await pods(role)).length === count;
      if (!(await until(async () => (await isSo()) || (await delay(1_000, false)), withinMs)))
        throw new Fault(`not ${count} ready pods of ${role} after ${withinMs / 1000} s`);
    },
    /** Posts envelopes to the Service until `stop` resolves with what became of them. */
    async load(rate = RATE) {
      if (!clients) {
        const partner = await relay('partners', 'create', 'load');
        clients = {
          partner,
          source: await relay('sources', 'create', 'load', '--api-key', '--partner', partner.clientId),
        };
      }
      const { partner, source } = clients;
      const { spec } = await json('get', 'service', `${FULL_NAME}-ingress`);
      const settings = {
        url: `http://${spec.clusterIP}`,
        partner: `${partner.clientId}:${partner.clientSecret}`,
        apiKey: source.apiKey,
        rate,
        address: ADDRESS,
        port: ENDPOINT_PORT,
      };
      const program = join(import.meta.dirname, 'load.mjs');
      const child = cluster.spawnInside(node24, [program, JSON.stringify(settings)]);
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const next = async () => {
        const { value, done } = await lines.next();
        if (done) throw new Fault('the load ended early');
        return JSON.parse(value);
      };
      await next();
      return {
        async stop() {
          child.stdin.end();
          return next();
        },
      };
    },
  };
}

/** What a load found, in words; a Fault where an envelope was lost, or a request failed that must not. */
export function judged(found, mayFail = []) {
  const unexpected = found.failed.filter(({ why }) => !mayFail.some((start) => why.startsWith(start)));
  const said = `${found.posted} posted, ${found.accepted} × 202, failed ${found.failed.length}, lost ${found.lost}, duplicates ${found.duplicates}; delivered after ${found.medianMs} ms (median), ${found.p99Ms} ms (p99), ${found.slowestMs} ms (slowest)`;
  if (found.lost > 0 || unexpected.length > 0)
    throw new Fault(
      `${said}\n${unexpected
        .map((one) => JSON.stringify(one))
        .slice(0, 10)
        .join('\n')}`,
    );
  return said;
}
