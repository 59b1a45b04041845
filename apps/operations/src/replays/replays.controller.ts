import { Controller, Delete, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { EVENT_TYPES } from '@relay/events';
import { Access, type Body, type FastifyReply, type FastifyRequest, StrictBody } from '@relay/http';
import { ProblemError } from '@relay/problem';
import {
  REPLAY_EXAMPLE,
  ReplayAnswer,
  ReplayCursor,
  replayCursor,
  replayFacts,
  ReplayRequest,
  ReplayService,
  type ReplayStatus,
  type ReplayTarget,
} from '@relay/replays';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { type Webhook, WebhookId } from '@relay/webhooks';
import { z } from 'zod';
import { actorOf } from '../access/operator-guard.js';
import { type Asked, listOf, ListQuery, textsOf } from '../http/routes.js';
import { WebhookStates } from '../webhooks/webhook-states.adapter.js';

const MAX_LIMIT = 10_000;
/**
 * Maximum number of webhooks in one order. Each webhook costs one Redis script, and all must finish before the answer is
 * due.
 */
const MOST_WEBHOOKS = 1_000;

const ReplayQuery = z.strictObject({
  state: z.enum(['running', 'paused', 'done', 'cancelled']).optional().describe('Only replays in this state.'),
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(1_000).describe('Longest page: 1 to 10,000.'),
  cursor: ReplayCursor,
});

/** Maximum number of replays that are read to find those in one state. */
export const LOOKED_AT = MAX_LIMIT;

const OperatorReplay = ReplayAnswer.extend({
  partnerId: z.string(),
  eventType: z.string(),
  orderedBy: z.enum(['partner', 'operator']),
}).meta({ id: 'OperatorReplay', description: 'Deliveries made again, how far that is, and who ordered them.' });
type OperatorReplay = z.infer<typeof OperatorReplay>;

const OperatorReplays = z
  .object({ replays: z.array(OperatorReplay) })
  .meta({ id: 'OperatorReplays', description: 'Replays of all partners, newest first.' });

export const ReplayOrder = ReplayRequest.safeExtend({
  webhook: WebhookId.optional().describe('To this webhook.'),
  webhooks: z.array(WebhookId).min(1).max(MOST_WEBHOOKS).optional().describe('To each of these webhooks.'),
})
  .refine(({ webhook, webhooks }) => (webhook === undefined) !== (webhooks === undefined), {
    path: ['webhook'],
    message: 'say to which webhooks: either webhook or webhooks',
  })
  .meta({
    id: 'ReplayOrder',
    description:
      'Which envelopes are to be delivered again, and to which webhook or webhooks: one of both is required.',
  });
export type ReplayOrder = z.infer<typeof ReplayOrder>;

const LeftOut = z.object({
  webhookId: z.string(),
  why: z
    .enum(['unknown', 'disabled', 'running'])
    .describe(
      '`unknown`: it is not registered; `disabled`: it gets nothing until it is enabled; `running`: it has another replay under way.',
    ),
  replayId: z.string().nullable().describe('The other replay.'),
});
type LeftOut = z.infer<typeof LeftOut>;

export const OrderedReplays = z
  .object({
    replays: z.array(OperatorReplay).describe('In the order of `webhooks`.'),
    leftOut: z.array(LeftOut).describe('Webhooks that get no replay.'),
  })
  .meta({ id: 'OrderedReplays', description: 'What became of an order to several webhooks.' });
export type OrderedReplays = z.infer<typeof OrderedReplays>;

const timeOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Date.parse(text));

/** Returns the time window of an order. */
export const windowOf = ({ since, until }: ReplayRequest) => ({ since: timeOf(since), until: timeOf(until) });

export const shownOf = (replay: ReplayStatus): OperatorReplay => ({
  ...replayFacts(replay),
  partnerId: replay.partnerId,
  eventType: replay.eventType,
  orderedBy: replay.orderedBy,
});

/** Returns the answer to a dry run. */
function countedOf(
  target: ReplayTarget,
  counted: { readonly since: number | undefined; readonly until: number | undefined; readonly matched: number },
  now: number,
): OperatorReplay {
  const facts = { id: '', ...target, ...counted, orderedBy: 'operator', done: 0, failed: 0, ratePerSecond: 0 } as const;
  const shown = shownOf({ ...facts, state: 'done', secondsLeft: undefined, createdAt: now, endedAt: now });
  return { ...shown, id: null, state: 'dry-run' };
}

export const EXAMPLE = {
  ...REPLAY_EXAMPLE,
  partnerId: 'partner_0Zt1',
  eventType: EVENT_TYPES[0],
  orderedBy: 'operator',
} satisfies OperatorReplay;

const Text = textsOf('Replays');
const path = { id: { schema: z.string().max(100).describe('Identifier of the replay.'), example: EXAMPLE.id } };
const aReplay = (description: string) => ({ description, content: { schema: OperatorReplay, example: EXAMPLE } });

/** Routes for the replays of all partners. Partners and operators can order replays. */
@Controller('replays')
@Access({ kind: 'operator', role: 'viewer' })
export class ReplaysController {
  constructor(
    private readonly desk: ReplayService,
    private readonly webhooks: WebhookStates,
    private readonly log: ThrottledLog,
  ) {}

  @Post()
  @HttpCode(202)
  @Access({ kind: 'operator', role: 'operator' })
  @Text('orderReplay', 'Deliver the envelopes of a time once more', {
    description:
      'To one `webhook`, as its partner could by `POST /webhooks/{id}/replay` of the ingress. A webhook has one replay at a time: while another runs, the answer is 409 with its `id`. A disabled webhook gets none. Envelopes that wait in the log for the webhook are left out and not counted: it gets them without a replay. Or to each of `webhooks`: the answer has a replay for each, as if it was ordered alone, and names those that are left out. If none can get one, an order is answered 409 with `leftOut`. `relay.operations` has a record of each replay before the first is ordered; Kafka is asked once for each event type.',
    body: {
      isRequired: true,
      schema: ReplayOrder,
      example: { webhook: EXAMPLE.webhookId, since: '2030-01-01T00:00:00Z', dryRun: true },
    },
    answer: {
      description: 'It is ordered, or counted only.',
      content: { schema: z.union([OperatorReplay, OrderedReplays]), example: EXAMPLE },
    },
    problems: ['not-found', 'conflict'],
  })
  async order(
    @StrictBody(ReplayOrder) body: Body<ReplayOrder>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OperatorReplay | OrderedReplays> {
    const wanted = body();
    if (wanted.webhook === undefined) return this.#orderEach(wanted, request);
    const found = await this.webhooks.find(wanted.webhook);
    if (found === undefined) throw new ProblemError('not-found', 'There is no such webhook.');
    if (found.status === 'disabled')
      throw new ProblemError('conflict', 'The webhook is disabled and gets nothing: enable it first.');
    const target = targetOf(found, wanted);
    const window = windowOf(wanted);
    if (wanted.dryRun) {
      const matched = await this.desk.count(target, window);
      return countedOf(target, { ...window, matched }, Date.now());
    }
    const ordered = await this.desk.order(target, window, actorOf(request));
    if (ordered.kind === 'running')
      throw new ProblemError('conflict', 'Another replay of this webhook has not ended.', {
        members: { id: ordered.id },
      });
    void reply.header('location', `/replays/${ordered.replay.id}`);
    return shownOf(ordered.replay);
  }

  @Get()
  @Text('listReplays', 'List the replays of all partners', {
    query: ReplayQuery,
    answer: listOf('The replays, newest first.', OperatorReplays),
  })
  async list(
    @ListQuery(ReplayQuery) { query, linkTo }: Asked<z.infer<typeof ReplayQuery>>,
  ): Promise<z.infer<typeof OperatorReplays>> {
    const { state, limit, cursor } = query;
    const page = await this.desk.list({ limit: state === undefined ? limit : LOOKED_AT, cursor });
    const wanted = page.replays.filter((replay) => state === undefined || replay.state === state);
    const last = wanted.length > limit ? wanted[limit - 1] : undefined;
    linkTo(last === undefined ? page.next : replayCursor(last.id, last.createdAt));
    return { replays: wanted.slice(0, limit).map(shownOf) };
  }

  @Get(':id')
  @Text('readReplay', 'Read how far a replay is', { path, answer: aReplay('The replay.'), problems: ['not-found'] })
  async read(@Param('id') id: string): Promise<OperatorReplay> {
    return shownOf(await this.#find(id));
  }

  /** Pauses a replay, then reports it on `relay.operations`. If the report fails, the replay stays paused. */
  @Post(':id/pause')
  @HttpCode(200)
  @Access({ kind: 'operator', role: 'operator' })
  @Text('pauseReplay', 'Pause a replay', {
    description: 'Deliveries handed over by then are still made. Whoever ordered it. A paused one stays so.',
    path,
    answer: aReplay('The paused replay.'),
    problems: ['not-found', 'conflict'],
  })
  async pause(@Param('id') id: string, @Req() request: FastifyRequest): Promise<OperatorReplay> {
    await this.#findUnderWay(id);
    await this.desk.pause(id, actorOf(request), (error) =>
      this.log.warn(
        'operations.untold',
        'Kafka did not take the result of an operator’s change: relay.operations has no record of it',
        { requestId: request.id, reason: reasonOf(error) },
      ),
    );
    return this.read(id);
  }

  @Post(':id/resume')
  @HttpCode(200)
  @Access({ kind: 'operator', role: 'operator' })
  @Text('resumeReplay', 'Resume a paused replay', {
    path,
    answer: aReplay('The running replay.'),
    problems: ['not-found', 'conflict'],
  })
  async resume(@Param('id') id: string, @Req() request: FastifyRequest): Promise<OperatorReplay> {
    await this.#findUnderWay(id);
    await this.desk.resume(id, actorOf(request));
    return this.read(id);
  }

  /** Reports the cancellation on `relay.operations`, then ends the replay. */
  @Delete(':id')
  @HttpCode(204)
  @Access({ kind: 'operator', role: 'operator' })
  @Text('cancelReplay', 'End a replay', {
    description: 'Deliveries handed over by then are still made. An ended replay stays unchanged.',
    path,
    answer: { description: 'It has ended or is ending.' },
    problems: ['not-found'],
  })
  async cancel(@Param('id') id: string, @Req() request: FastifyRequest): Promise<void> {
    await this.#find(id);
    await this.desk.cancel(id, actorOf(request));
  }

  async #orderEach(wanted: ReplayOrder, request: FastifyRequest): Promise<OrderedReplays> {
    const known = new Map((await this.webhooks.all()).map((webhook) => [webhook.id, webhook]));
    const targets: ReplayTarget[] = [];
    const leftOut: LeftOut[] = [];
    for (const webhookId of new Set(wanted.webhooks)) {
      const found = known.get(webhookId);
      if (found === undefined) leftOut.push({ webhookId, why: 'unknown', replayId: null });
      else if (found.status === 'disabled') leftOut.push({ webhookId, why: 'disabled', replayId: null });
      else targets.push(targetOf(found, wanted));
    }
    const window = windowOf(wanted);
    const outcomes = wanted.dryRun
      ? await this.desk.countEach(targets, window)
      : await this.desk.orderEach(targets, window, actorOf(request));
    const now = Date.now();
    const replays: OperatorReplay[] = [];
    for (const [index, target] of targets.entries()) {
      const outcome = outcomes[index];
      if (outcome?.kind === 'running')
        leftOut.push({ webhookId: target.webhookId, why: 'running', replayId: outcome.id });
      else if (outcome?.kind === 'ordered') replays.push(shownOf(outcome.replay));
      else if (outcome?.kind === 'counted')
        replays.push(countedOf(target, { ...window, matched: outcome.matched }, now));
    }
    if (replays.length === 0 && !wanted.dryRun)
      throw new ProblemError('conflict', 'None of the webhooks can get a replay.', { members: { leftOut } });
    return { replays, leftOut };
  }

  async #find(id: string): Promise<ReplayStatus> {
    const found = await this.desk.find(id);
    if (found === undefined) throw new ProblemError('not-found', 'There is no such replay.');
    return found;
  }

  async #findUnderWay(id: string): Promise<void> {
    const { endedAt } = await this.#find(id);
    if (endedAt !== undefined) throw new ProblemError('conflict', 'The replay has ended.');
  }
}

const targetOf = ({ id: webhookId, partnerId, eventType }: Webhook, { status }: ReplayOrder): ReplayTarget => ({
  webhookId,
  partnerId,
  eventType,
  status,
});
