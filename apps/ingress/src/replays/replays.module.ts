import { Delete, Get, HttpCode, Inject, Module, Param, Post, Req } from '@nestjs/common';
import {
  callerIdOf,
  callerOf,
  linkToNext,
  Portal,
  readIfMatch,
  readQuery,
  StrictBody,
  type Body,
  type FastifyRequest,
} from '@relay/http';
import { KeptAdmin, type TimeWindow } from '@relay/kafka';
import { listOf, Operation, operationsOf } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { Shards } from '@relay/redis';
import {
  openReplayService,
  REPLAY_EXAMPLE,
  ReplayAnswer,
  ReplayCursor,
  replayFacts,
  ReplayId,
  ReplayRequest,
  type ReplayService,
  type ReplayStatus,
  type ReplayTarget,
} from '@relay/replays';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { WebhookId } from '@relay/webhooks';
import { z } from 'zod';
import {
  askedBy,
  Changes,
  Exchange,
  PartnerAudit,
  PartnerRoutes,
  publicPath,
  Reads,
} from '../access/partner-routes.js';
import { timeOf } from '../history/delivery-lists.js';
import { HistoryModule } from '../history/history.module.js';
import { OwnWebhooks } from '../history/own-webhooks.js';
import { pageLimit } from '../webhooks/listings.js';
import { isShown, staleVersion } from '../webhooks/webhook-problems.js';

const ReplaysQuery = z.strictObject({ limit: pageLimit(100, /^(?:[1-9]\d?|100)$/, 20), cursor: ReplayCursor });

const ReplayAnswers = z
  .object({ replays: z.array(ReplayAnswer) })
  .meta({ id: 'Replays', description: 'Replays, newest first.' });
type ReplayAnswers = z.infer<typeof ReplayAnswers>;

const running = { schema: ReplayAnswer, example: REPLAY_EXAMPLE };

const operations = operationsOf('Webhooks', {
  replayWebhook: {
    summary: 'Deliver the envelopes of a time once more',
    description:
      'Replayed deliveries are made beside new ones, within the same limits and with the same `webhook-id`; `relay-attempt` counts from 1 again. Envelopes that wait in the log for the webhook are left out and not counted: it gets them without a replay. The log keeps envelopes for seven days unless the operator says otherwise. With `status: failed` only envelopes with a dead letter of the webhook are replayed; each dead letter becomes a delivery that is due at once, and one that fails once more is a dead letter again. A webhook has one replay at a time: while another runs, the answer is 409 with its `id`.',
    path: { id: { schema: WebhookId, example: REPLAY_EXAMPLE.webhookId } },
    body: { isRequired: false, schema: ReplayRequest, example: { since: '2030-01-01T00:00:00Z', dryRun: false } },
    answer: {
      description: 'It is ordered, or counted only.',
      content: running,
      headers: { Location: 'Where its progress is read; not after a dry run.' },
    },
    problems: ['not-found', 'conflict', 'unavailable'],
  },
  listReplays: {
    summary: 'List your replays',
    description: 'Those that you or the operator ordered in the last 30 days: the newest 20 of each webhook.',
    query: ReplaysQuery,
    answer: listOf('The replays, newest first.', ReplayAnswers, { replays: [running.example] }),
  },
  readReplay: {
    summary: 'Read how far a replay is',
    description: 'The relay keeps the newest 20 replays of a webhook for 30 days.',
    path: { id: { schema: ReplayId, example: REPLAY_EXAMPLE.id } },
    answer: { description: 'The replay.', content: running },
    problems: ['not-found'],
  },
  cancelReplay: {
    summary: 'End a replay',
    description:
      'The replay ends within a second or two; deliveries handed over by then are still made. An ended replay stays unchanged.',
    path: { id: { schema: ReplayId, example: REPLAY_EXAMPLE.id } },
    answer: { description: 'It has ended or is ending.' },
    problems: ['not-found', 'unavailable'],
  },
});

/** Number of listed replays for one point of the `history` quota. */
const REPLAYS_FOR_A_POINT = 10;

/** Routes by which a partner orders, lists, shows and ends its replays. These include replays that an operator ordered. */
@PartnerRoutes('/')
class ReplaysController {
  readonly #desk: ReplayService;

  constructor(
    private readonly own: OwnWebhooks,
    shards: Shards,
    admin: KeptAdmin,
    audit: PartnerAudit,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {
    this.#desk = openReplayService(shards, admin, audit, config.KAFKA_TOPIC_PREFIX);
  }

  @Get('replays')
  @Reads(operations.listReplays)
  async list(@Exchange() { request, reply }: Exchange): Promise<ReplayAnswers> {
    const { limit, cursor } = readQuery(ReplaysQuery, request.query);
    await this.own.quota.admit(callerIdOf(request), Math.ceil(limit / REPLAYS_FOR_A_POINT));
    const { clientId, portal } = callerOf(request);
    const { replays, next } = await this.#desk.ofPartner(clientId, { limit, cursor }, portal?.webhookIds);
    linkToNext(request, reply, next, { publicUrl: this.config.PUBLIC_URL });
    return { replays: replays.map((replay) => replayFacts(replay)) };
  }

  @Get('replays/:id')
  @Reads(operations.readReplay)
  async read(@Param('id') id: string, @Req() request: FastifyRequest): Promise<ReplayAnswer> {
    return replayFacts(await this.#find(id, request));
  }

  @Delete('replays/:id')
  @Portal('write')
  @HttpCode(204)
  @Operation(operations.cancelReplay)
  async cancel(@Param('id') id: string, @Req() request: FastifyRequest): Promise<void> {
    const replay = await this.#find(id, request);
    await this.#desk.cancel(replay.id, askedBy(request));
  }

  @Post('webhooks/:id/replay')
  @Changes(operations.replayWebhook, 202)
  async order(
    @Param('id') given: string,
    @StrictBody(ReplayRequest, 'optional') body: Body<ReplayRequest>,
    @Exchange() { request, reply }: Exchange,
  ): Promise<ReplayAnswer> {
    const partnerId = callerIdOf(request);
    const found = await this.own.find(partnerId, given);
    if (readIfMatch(request.headers['if-match'])?.includes(found.version) === false) throw staleVersion();
    const wanted = body();
    const window = windowOf(wanted);
    const { id: webhookId, eventType } = found.details;
    const target = { webhookId, partnerId, eventType, status: wanted.status };
    if (wanted.dryRun) return dryRunOf(target, window, await this.#desk.count(target, window));
    const ordered = await this.#desk.order(target, window, askedBy(request));
    if (ordered.kind === 'running')
      throw new ProblemError('conflict', 'Another replay of this webhook has not ended.', {
        members: { id: ordered.id },
      });
    void reply.header('location', `${publicPath(this.config)}/replays/${ordered.replay.id}`);
    return replayFacts(ordered.replay);
  }

  /** Finds a replay of the partner. A replay of another partner is answered like an unknown or expired one. */
  async #find(given: string, request: FastifyRequest): Promise<ReplayStatus> {
    const id = ReplayId.safeParse(given);
    const found = id.success ? await this.#desk.find(id.data) : undefined;
    if (found?.partnerId !== callerIdOf(request) || !isShown(callerOf(request), found.webhookId))
      throw new ProblemError('not-found', 'You have no such replay.');
    return found;
  }
}

const windowOf = ({ since, until }: ReplayRequest): TimeWindow => ({ since: timeOf(since), until: timeOf(until) });

/** Returns the answer to a dry run in the form of a replay. */
function dryRunOf(target: ReplayTarget, window: TimeWindow, matched: number): ReplayAnswer {
  const now = Date.now();
  const counts = { matched, done: 0, failed: 0, ratePerSecond: 0, secondsLeft: undefined };
  const times = { ...window, createdAt: now, endedAt: now };
  const facts = replayFacts({ ...target, ...counts, ...times, id: '', orderedBy: 'partner', state: 'done' });
  return { ...facts, id: null, state: 'dry-run' };
}

@Module({ imports: [HistoryModule], controllers: [ReplaysController] })
export class ReplaysModule {}
