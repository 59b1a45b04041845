import { keyringEnv } from '@relay/config';
import { Keyring } from '@relay/keyring';
import { BullmqRetryQueue, type RetryQueue } from '@relay/retry';
import { RedisWebhookView } from '@relay/webhooks';
import type { Command } from 'commander';
import { withRedis } from '../connections.adapter.js';
import { documented } from '../documented.js';
import { settingsOf } from '../settings.js';
import { answer, type Shell } from '../shell.js';
import { counted } from '../table.js';
import { DeadLetterBox, type StoredLetter } from './dead-letter-box.adapter.js';
import { replayOf, type Registrations } from './replay.js';
import { assertSelection, chosen, withSelection, type Selection } from './selection.js';

interface Report {
  /** Dead letters that became deliveries again, and how many these are. */
  replayed: number;
  deliveries: number;
  refused: { id: string; why: string }[];
  missing: string[];
}

export function defineReplayLetters(group: Command, shell: Shell): void {
  const command = withSelection(
    group.command('replay').description('deliver dead letters again, with all attempts of the schedule before them'),
  ).action(async (ids: string[], options: Selection) => {
    assertSelection(command, ids, options);
    const report = await replay(shell, ids, options);
    if (report.refused.length > 0 || report.missing.length > 0) shell.exitCode = 1;
    answer(shell, options, report, textOf(report));
  });
  documented(command, 'dead-letters replay --type task.created');
}

function replay(shell: Shell, ids: readonly string[], selection: Selection): Promise<Report> {
  const keyring = Keyring.parse(settingsOf(shell, keyringEnv).ENCRYPTION_KEYS);
  return withRedis(shell, async (redis) => {
    const webhooks = new RedisWebhookView(redis, keyring);
    await webhooks.reload();
    const box = new DeadLetterBox(redis);
    const queue = new BullmqRetryQueue(redis);
    const report: Report = { replayed: 0, deliveries: 0, refused: [], missing: [] };
    for await (const letters of chosen(box, ids, selection, (missing) => (report.missing = missing)))
      await replaySlice(letters, { webhooks, box, queue }, report);
    await Promise.all([box.close(), queue.close()]);
    return report;
  });
}

/** The jobs are stored before the letters go: what ends in between is there twice, never not at all. */
async function replaySlice(
  letters: readonly StoredLetter[],
  { webhooks, box, queue }: { webhooks: Registrations; box: DeadLetterBox; queue: RetryQueue },
  report: Report,
): Promise<void> {
  const now = Date.now();
  const replays = letters.map(({ id, letter }) => ({ id, replay: replayOf(letter, webhooks, now) }));
  const jobs = replays.flatMap(({ replay: plan }) => (plan.kind === 'replay' ? plan.jobs : []));
  await Promise.all(jobs.map((job) => queue.add({ job, at: now })));
  const done = replays.filter(({ replay: plan }) => plan.kind === 'replay').map(({ id }) => id);
  await box.remove(done);
  report.replayed += done.length;
  report.deliveries += jobs.length;
  for (const { id, replay: plan } of replays) if (plan.kind === 'refused') report.refused.push({ id, why: plan.why });
}

function textOf({ replayed, deliveries, refused, missing }: Report): string {
  return [
    `${counted(replayed, 'dead letter')} replayed as ${counted(deliveries, 'delivery', 'deliveries')}`,
    ...refused.map(({ id, why }) => `refused ${id}: ${why}`),
    ...missing.map((id) => `not found ${id}: \`relay dead-letters list\` shows those there are`),
  ].join('\n');
}
