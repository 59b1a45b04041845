import { ENVELOPE_TYPES } from '@relay/events';
import {
  LeftOut,
  progressFacts,
  type ReplayGroupPlan,
  type ReplayGroupStatus,
  ReplayRequest,
  textOf,
} from '@relay/replays';
import { WebhookId } from '@relay/webhooks';
import { z } from 'zod';
import { countedOf, EXAMPLE, OperatorReplay, shownOf } from './replay-answers.js';

/** Webhooks of one order: each is a script of Redis, and all of them have to be stored within the time for an answer. */
export const MOST_WEBHOOKS = 1_000;

export const ReplayGroupOrder = ReplayRequest.safeExtend({
  webhooks: z.array(WebhookId).min(1).max(MOST_WEBHOOKS).optional().describe('To these webhooks.'),
  all: z.literal(true).optional().describe('To every webhook.'),
  partner: z.string().max(100).optional().describe('To webhooks of this partner.'),
  eventType: z.enum(ENVELOPE_TYPES).optional().describe('To webhooks of this event type.'),
  origin: z.string().max(300).optional().describe('To webhooks at this origin, such as `https://hooks.example.com`.'),
})
  .refine(({ webhooks, all, partner, eventType, origin }) => {
    const filtered = partner !== undefined || eventType !== undefined || origin !== undefined;
    return Number(webhooks !== undefined) + Number(all === true) + Number(filtered) === 1;
  }, 'say which webhooks: either webhooks, or all, or partner, eventType, origin')
  .meta({
    id: 'ReplayGroupOrder',
    description: `Which envelopes are to be delivered again to which webhooks, ${MOST_WEBHOOKS} at the most.`,
  });
export type ReplayGroupOrder = z.infer<typeof ReplayGroupOrder>;

const { id, status, since, until, state, done, createdAt, endedAt, ratePerSecond } = OperatorReplay.shape;

export const ReplayGroupAnswer = z
  .object({
    id,
    status,
    since,
    until,
    state: state.describe('`running` while one replay is, else `paused` while one is; `cancelled` if all were.'),
    matched: z.int().describe('The sum of the replays, as the others.'),
    done,
    failed: z.int(),
    ratePerSecond,
    secondsLeft: z.number().nullable().describe('Of the replay that ends last; `null` while there is no rate.'),
    createdAt,
    endedAt,
    replays: z
      .array(OperatorReplay)
      .describe('Webhook by webhook. A replay without deliveries is left out after 10 minutes.'),
    leftOut: z.array(LeftOut).describe('Webhooks that got no replay.'),
    missing: z
      .array(z.string())
      .describe('Webhooks whose replay was not ordered because the process was killed before: order them again.'),
  })
  .meta({ id: 'ReplayGroup', description: 'Replays that were ordered at once, and how far they are together.' });
export type ReplayGroupAnswer = z.infer<typeof ReplayGroupAnswer>;

export const shownGroup = (group: ReplayGroupStatus): ReplayGroupAnswer => ({
  id: group.id,
  ...progressFacts(group),
  replays: group.known.map(shownOf),
  leftOut: group.leftOut,
  missing: [...group.missing],
});

/** The answer to a dry run. */
export function countedGroup(
  { window, status: wanted, steps, leftOut }: ReplayGroupPlan,
  now: number,
): ReplayGroupAnswer {
  const at = new Date(now).toISOString();
  return {
    id: null,
    status: wanted,
    since: textOf(window.since),
    until: textOf(window.until),
    state: 'dry-run',
    matched: steps.reduce((sum, { matched }) => sum + matched, 0),
    done: 0,
    failed: 0,
    ratePerSecond: 0,
    secondsLeft: null,
    createdAt: at,
    endedAt: at,
    replays: steps.map(({ target, matched }) => countedOf(target, { ...window, matched }, now)),
    leftOut: [...leftOut],
    missing: [],
  };
}

export const GROUP_EXAMPLE = {
  id: '5d7e9f10-2b3c-4d5e-8f60-718293a4b5c6',
  status: EXAMPLE.status,
  since: EXAMPLE.since,
  until: EXAMPLE.until,
  state: EXAMPLE.state,
  matched: EXAMPLE.matched,
  done: EXAMPLE.done,
  failed: EXAMPLE.failed,
  ratePerSecond: EXAMPLE.ratePerSecond,
  secondsLeft: EXAMPLE.secondsLeft,
  createdAt: EXAMPLE.createdAt,
  endedAt: EXAMPLE.endedAt,
  replays: [{ ...EXAMPLE, groupId: '5d7e9f10-2b3c-4d5e-8f60-718293a4b5c6' }],
  leftOut: [{ webhookId: '9c8b7a69-5847-4635-8241-30f1e2d3c4b5', why: 'disabled', replayId: null }],
  missing: [],
} satisfies ReplayGroupAnswer;
