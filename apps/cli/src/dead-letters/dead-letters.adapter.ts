import { Audit } from '@relay/audit';
import {
  DeadLetterReader,
  DeadLetterService,
  type DeadLetterSelection,
  DeadLetterEndings,
  makeReported,
  type PurgeReport,
  type ReplayReport,
} from '@relay/dead-letters';
import { BullmqRetryQueue } from '@relay/retry';
import { RedisWebhookView } from '@relay/webhooks';
import { keyringOf } from '../keyring.adapter.js';
import { withRegistry } from '../registry.adapter.js';
import type { Shell } from '../shell.js';
import type { Selection } from './selection.js';

/** The actor that `relay.operations` names for commands of an operator. */
const ACTOR = { operator: 'relay dead-letters' };

const NO_WEBHOOKS = { find: () => undefined, matching: () => [] };

/** Opens the dead letters for `work`; only a replay needs the registrations, and with them the keys. */
export function withDeadLetters<T>(
  shell: Shell,
  work: (desk: DeadLetterService, audit: Audit) => Promise<T>,
  { replaying = false } = {},
): Promise<T> {
  const keyring = replaying ? keyringOf(shell) : undefined;
  return withRegistry(shell, async ({ redis, shards, registry, publisher, settings }) => {
    const view = keyring === undefined ? undefined : new RedisWebhookView(redis, registry.of('webhook'), keyring);
    await view?.reload();
    const box = new DeadLetterReader(shards);
    const queue = new BullmqRetryQueue(shards);
    const ends = new DeadLetterEndings(publisher, settings.KAFKA_TOPIC_PREFIX);
    const audit = new Audit(publisher, settings.KAFKA_TOPIC_PREFIX, Date.now);
    const result = await work(new DeadLetterService(box, queue, view ?? NO_WEBHOOKS, ends, Date.now), audit);
    await Promise.all([box.close(), queue.close()]);
    return result;
  });
}

/** Changes the selected dead letters; an interrupt ends it after the slice under way. `relay.operations` gets the request before the change and the result after it. */
export async function changeDeadLetters<Report extends PurgeReport | ReplayReport>(
  shell: Shell,
  what: 'replay' | 'purge',
  { ids, ...filter }: { ids: readonly string[] } & Selection,
  make: (desk: DeadLetterService, choice: DeadLetterSelection, stop: AbortSignal) => Promise<Report>,
): Promise<Report> {
  const { all, type, reason, webhook } = filter;
  const selection = ids.length > 0 ? { ids } : { all, type, reason, webhook };
  const untold = (): void =>
    shell.note('warning: the change is made, but Kafka did not take its result for relay.operations');
  const stop = new AbortController();
  void shell.interrupted().then(() => stop.abort());
  const report = await withDeadLetters(
    shell,
    (desk, audit) =>
      makeReported(audit, { what, selection, by: ACTOR }, () => make(desk, { ids, filter }, stop.signal), untold),
    { replaying: what === 'replay' },
  );
  if (!report.complete) {
    shell.exitCode = 1;
    shell.note('interrupted: the same command goes on with the rest');
  }
  return report;
}
