import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { Access, type Body, type FastifyReply, type FastifyRequest, StrictBody } from '@relay/http';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { ReplayService, type ReplayTarget } from '@relay/replays';
import type { Webhook } from '@relay/webhooks';
import { actorOf } from '../access/actor.js';
import { WebhookStates } from '../webhooks/webhook-states.adapter.js';
import {
  countedOf,
  type LeftOut,
  type OperatorReplay,
  type OrderedReplays,
  ReplayOrder,
  shownOf,
  windowOf,
} from './replay-answers.js';
import { orderReplay } from './replays.openapi.js';

/** Orders replays to the webhooks of any partners. */
@Controller('replays')
@Access({ kind: 'operator', role: 'operator' })
export class ReplayOrdersController {
  constructor(
    private readonly desk: ReplayService,
    private readonly webhooks: WebhookStates,
  ) {}

  @Post()
  @HttpCode(202)
  @Operation(orderReplay)
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
}

const targetOf = ({ id: webhookId, partnerId, eventType }: Webhook, { status }: ReplayOrder): ReplayTarget => ({
  webhookId,
  partnerId,
  eventType,
  status,
});
