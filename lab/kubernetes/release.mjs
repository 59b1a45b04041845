// The relay as a release of the chart: its pods, and a load on it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { node24 } from '../../scripts/lib/paths.mjs';
import { Fault, until } from '../../scripts/lib/process.mjs';
import { chart } from './cluster.mjs';
import { PARTNER } from './settings.mjs';

export const RELEASE = 'relay';
export const FULL_NAME = 'relay-partner-relay';
const SELECTOR = 'app.kubernetes.io/name=partner-relay';
/**
 * Runs a program that gets the cores first, in a session of its own: Linux divides them by sessions. As a partner's endpoint the load has
 * a machine of its own, and no pod that starts makes it late.
 */
const FIRST = 'echo -20 > /proc/self/autogroup; exec "$0" "$@"';
export const ENDPOINT = `https://${PARTNER.host}:8443/hook`;

/**
 * @param options.values those of the installation; `partner` key and certificate of the load's endpoint; `rate` envelopes a second of
 * a load that does not say another
 */
export function release(cluster, { namespace, values, partner, rate }) {
  const kubectl = (...args) => cluster.kubectl('-n', namespace, ...args);
  const json = (...args) => cluster.json('-n', namespace, ...args);
  const relay = async (...args) =>
    JSON.parse(await kubectl('exec', `deploy/${FULL_NAME}-ingress`, '--', 'relay', ...args, '--json'));
  const pods = async (role) => {
    const selector = `${SELECTOR}${role ? `,app.kubernetes.io/component=${role}` : ''}`;
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
    namespace,
    kubectl,
    json,
    pods,
    ready,
    relay,
    /**
     * Helm's install or upgrade; resolves when all pods are ready.
     * @param options.changes values over those of the release; `from` the folder of another chart; `files` of further values
     */
    async helm(command, { changes = {}, from = chart, files = [], more = [] } = {}) {
      const written = Object.entries({ values, changes }).map(([name, content]) => {
        const file = join(cluster.home, `${namespace}-${name}.json`);
        writeFileSync(file, JSON.stringify(content));
        return file;
      });
      const given = [...files, ...written].map((file) => `--values=${file}`);
      return cluster.helm(command, RELEASE, from, '-n', namespace, ...given, '--wait', '--timeout=5m', ...more);
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
    /** Posts envelopes to the Service until `stop` resolves with what became of them. @param kept share of those on kept connections */
    async load({ rate: wanted = rate, kept = 0.5 } = {}) {
      if (!clients) {
        const made = await relay('admin', 'clients', 'create', 'partner', 'load');
        clients = {
          made,
          source: await relay('admin', 'clients', 'create', 'source', 'load', '--api-key', '--partner', made.clientId),
        };
      }
      const { spec } = await json('get', 'service', `${FULL_NAME}-ingress`);
      const settings = {
        url: `http://${spec.clusterIP}`,
        partner: `${clients.made.clientId}:${clients.made.clientSecret}`,
        apiKey: clients.source.apiKey,
        rate: wanted,
        kept,
        endpoint: ENDPOINT,
        address: PARTNER.address,
        tls: partner,
      };
      const file = join(cluster.home, `${namespace}-load.json`);
      writeFileSync(file, JSON.stringify(settings), { mode: 0o600 });
      const program = [node24, join(import.meta.dirname, 'load.mjs'), file];
      const child = cluster.spawnInside('setsid', ['nice', '--adjustment=-15', 'sh', '-c', FIRST, ...program]);
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

/** Returns the result of a load in words. @throws Fault if an envelope was lost, or if a request failed that must not */
export function judged(found, mayFail = []) {
  const unexpected = found.failed.filter(({ why }) => !mayFail.some((start) => why.startsWith(start)));
  const said = `${found.posted} posted (${found.perSecond}/s), ${found.accepted} × 202, failed ${found.failed.length}, resent ${found.resent}, lost ${found.lost}, duplicates ${found.duplicates}; delivered after ${found.medianMs} ms (median), ${found.p99Ms} ms (p99), ${found.slowestMs} ms (slowest)`;
  if (found.lost > 0 || unexpected.length > 0)
    throw new Fault(
      `${said}\n${unexpected
        .map((one) => JSON.stringify(one))
        .slice(0, 10)
        .join('\n')}`,
    );
  return said;
}

/** Runs a task under a load; how long it took, and what became of the envelopes. */
export async function underLoad(relay, task, mayFail) {
  const load = await relay.load();
  const since = Date.now();
  let took;
  let found;
  try {
    await task();
    took = Math.round((Date.now() - since) / 1000);
  } finally {
    found = await load.stop();
  }
  return `${took} s; ${judged(found, mayFail)}`;
}
