import { setTimeout as delay } from 'node:timers/promises';
import type { Shard } from '@relay/redis';
import { deadLettersIn } from '../../support/dead-letters.js';
import { attemptOf, envelopeIdOf, MIX } from './endpoints.js';
import { ENVELOPES, type Fault, type Outcome } from './fault.js';
import { allowedDuplicates, calmAfter, count, mostWithinASecond, type Counts, type Letter } from './oracle.js';
import { OTHERS_PAUSE_MS, othersOf, type Others } from './other-shards.js';
import { startEnded } from './recovery.js';
import type { Trial } from './trial.js';

/** Three openings of a breaker: the endpoint that fails a fifth of its requests may fail two probes as well. */
const SETTLES_WITHIN_MS = 300_000;
const HOPELESS_AFTER_MS = 10_000;
const RECOVERS_WITHIN_MS = 10_000;
const LINES_PER_SECOND = 100;
const QUEUE = 'deliveries';

/** Ends the load, waits until all of it is delivered or dead and nothing is left to do, and counts. */
export async function outcomeOf(trial: Trial, tookSince: number): Promise<Outcome> {
  const { load, endpoints, fault } = trial;
  await load.end();
  const { counts, left, ended } = await settled(trial);
  const allowed =
    fault.duplicates === 'none'
      ? 0
      : allowedDuplicates(load.accepted, endpoints, trial.interruptions, trial.heldUpMs + (fault.flushSlackMs ?? 0));
  const others = trial.struck && othersOf(trial.struck, load.accepted, endpoints);
  const outcome = {
    accepted: load.accepted.size,
    owed: counts.owed,
    delivered: counts.delivered,
    dead: counts.dead,
    lost: counts.lost.length,
    duplicates: counts.duplicates.length,
    allowed,
    repeated: load.repeated,
    recoveriesMs: trial.recoveriesMs,
    ...(trial.returnedAt !== undefined && {
      calmMs: Math.round(calmAfter(load.answers, trial.interruptions[0]?.since ?? trial.returnedAt, trial.returnedAt)),
    }),
    ...(others !== undefined && { othersP99Ms: others.p99Ms, othersPauseMs: others.pauseMs }),
    linesPerSecond: Math.max(...trial.apps.map(({ loggedAt }) => mostWithinASecond(loggedAt))),
    heldUpMs: trial.heldUpMs,
    tookMs: Math.round(performance.now() - tookSince),
    ended,
  };
  return {
    ...outcome,
    failures: [
      ...left.map((what) => `never done: ${what}`),
      ...(left.length > 0 ? await waiting(trial) : []),
      ...counts.lost.slice(0, 5).map((delivery) => `lost: ${delivery}${askedFor(trial, delivery)}`),
      ...missed(fault, outcome),
      ...refusals(trial),
      ...(others === undefined ? [] : stoodStill(others, trial.struck?.stopsAll === true)),
      ...duplicatesOfOthers(trial, counts),
      ...((await fault.check?.(trial)) ?? []),
    ],
  };
}

async function settled(trial: Trial): Promise<{ counts: Counts; left: readonly string[]; ended: number }> {
  const { load, endpoints } = trial;
  let letters: Letter[] = [];
  const counted = (): Counts => count(load.accepted, endpoints, letters);
  const deadline = performance.now() + SETTLES_WITHIN_MS;
  let left: readonly string[] = [];
  let idleSince = Infinity;
  let ended = 0;
  while (performance.now() < deadline) {
    ended += startEnded(trial);
    // A store that has just come back may not answer yet; it is asked again.
    left = await leftToDo(trial).catch((error: unknown) => [`what is left is not known: ${String(error)}`]);
    idleSince = left.length === 0 ? Math.min(idleSince, performance.now()) : Infinity;
    // Where nothing is left to do, what is missing by then will not come any more.
    if (performance.now() - idleSince > (counted().lost.length === 0 ? 0 : HOPELESS_AFTER_MS)) break;
    await delay(1_000);
    if (left.length === 0) letters = await lettersOf(trial, letters);
  }
  if (left.length > 0) letters = await lettersOf(trial, letters);
  await delay(500); // what a duplicate needs to arrive
  return { counts: counted(), left, ended };
}

const lettersOf = ({ shards }: Trial, known: Letter[]): Promise<Letter[]> => deadLettersIn(shards).catch(() => known);

/** What waits in the queue or unread in the log. */
async function leftToDo({ stack, shards }: Trial): Promise<string[]> {
  const inShards = await Promise.all(shards.all.map(leftIn));
  const types = [...new Set(MIX)];
  const lags = await Promise.all(types.map(async (type) => ({ what: `${type} unread`, left: await stack.lag(type) })));
  return [...inShards.flat(), ...lags].flatMap(({ what, left }) => (left === 0 ? [] : [`${left} ${what}`]));
}

async function leftIn(shard: Shard): Promise<{ what: string; left: number }[]> {
  const { redis, tag } = shard;
  const key = (state: string): string => shard.key(QUEUE, state);
  return [
    { what: `jobs delayed in ${tag}`, left: await redis.zcard(key('delayed')) },
    { what: `jobs prioritized in ${tag}`, left: await redis.zcard(key('prioritized')) },
    { what: `jobs wait in ${tag}`, left: await redis.llen(key('wait')) },
    { what: `jobs active in ${tag}`, left: await redis.llen(key('active')) },
    { what: `webhooks parked in ${tag}`, left: await redis.scard(shard.key('parked')) },
  ];
}

/** The first of what waits in the queues, and what is known of failing endpoints. */
async function waiting({ shards }: Trial): Promise<string[]> {
  const jobs = await Promise.all(shards.all.map(waitingIn));
  const breakers = await shards.global.hgetall('{relay:0}:breakers');
  return [`now ${new Date().toISOString()}`, ...jobs.flat(), `breakers ${JSON.stringify(breakers)}`];
}

async function waitingIn(shard: Shard): Promise<string[]> {
  const { redis } = shard;
  const due = await redis.zrange(shard.key(QUEUE, 'delayed'), '0', '4', 'WITHSCORES');
  const jobs = due.flatMap((id, index) => (index % 2 === 0 ? [{ id, score: Number(due[index + 1]) }] : []));
  const texts = jobs.map(async ({ id, score }) => {
    const [data = '', processedOn = ''] = await redis.hmget(shard.key(QUEUE, id), 'data', 'processedOn');
    const { eventType, attempts, acceptedAt } = JSON.parse(data || '{}') as Record<string, unknown>;
    return `job ${id}: due ${new Date(score / 4_096).toISOString()}, ${JSON.stringify({ eventType, attempts, acceptedAt, processedOn })}`;
  });
  return Promise.all(texts);
}

/** When a delivery, as `<webhook> <envelope>`, was accepted and what its endpoint was asked, on the clock of `requests.txt`. */
function askedFor({ load, endpoints }: Trial, delivery: string): string {
  const [webhookId, envelopeId = ''] = delivery.split(' ');
  const received = endpoints.find((endpoint) => endpoint.webhookId === webhookId)?.received() ?? [];
  const at = (ms: number | undefined): string => (ms === undefined ? 'never' : (ms / 1_000).toFixed(3));
  const requests = received
    .filter((request) => envelopeIdOf(request) === envelopeId)
    .map((request) => `#${attemptOf(request)} ${request.status} ${at(request.at)} answered ${at(request.answeredAt)}`);
  const { type, at: acceptedAt } = load.accepted.get(envelopeId) ?? {};
  return ` (${type} accepted ${at(acceptedAt)}; ${requests.join(', ') || 'never asked'})`;
}

function missed(fault: Fault, outcome: Omit<Outcome, 'failures'>): string[] {
  const within = fault.recoversWithinMs ?? RECOVERS_WITHIN_MS;
  const late = outcome.recoveriesMs.filter((took) => took > within);
  const { accepted, lost, duplicates, allowed, calmMs = 0, linesPerSecond } = outcome;
  const least = fault.envelopes ?? ENVELOPES;
  return [
    ...(accepted < least ? [`only ${accepted} of ${least} envelopes were accepted`] : []),
    ...(lost > 0 ? [`${lost} deliveries are lost`] : []),
    ...(duplicates > allowed ? [`${duplicates} duplicates, ${allowed} are allowed`] : []),
    ...late.map((took) => `recovered after ${took} ms, not within ${within} ms`),
    ...(calmMs > within ? [`the ingress was slow for ${calmMs} ms after the return`] : []),
    ...(linesPerSecond > LINES_PER_SECOND ? [`a process logged ${linesPerSecond} lines within a second`] : []),
  ];
}

function stoodStill({ delivered, pauseMs }: Others, mayWait: boolean): string[] {
  if (delivered === 0 && !mayWait) return ['the other shards delivered nothing while the fault lasted'];
  return pauseMs > OTHERS_PAUSE_MS ? [`the other shards delivered nothing for ${pauseMs} ms`] : [];
}

function duplicatesOfOthers({ struck }: Trial, { duplicates }: Counts): string[] {
  const others = duplicates.filter((delivery) => struck?.has(delivery.split(' ')[1] ?? '') === false);
  return others.length === 0 ? [] : [`${others.length} duplicates in other shards, the first: ${others[0]}`];
}

function refusals({ load }: Trial): string[] {
  if (load.refused.length === 0) return [];
  return [`${load.refused.length} answers that no fault excuses, the first: ${load.refused[0]}`];
}
