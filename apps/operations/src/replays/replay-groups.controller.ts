import { Controller, Delete, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { Access, type Body, type FastifyReply, type FastifyRequest, StrictBody } from '@relay/http';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { type LeftOut, ReplayGroups, type ReplayGroupStatus, type ReplayTarget } from '@relay/replays';
import { ThrottledLog } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';
import { actorOf } from '../access/actor.js';
import { WebhookStates } from '../webhooks/webhook-states.adapter.js';
import { windowOf } from './replay-answers.js';
import {
  countedGroup,
  MOST_WEBHOOKS,
  type ReplayGroupAnswer,
  ReplayGroupOrder,
  shownGroup,
} from './replay-group-answers.js';
import {
  cancelReplayGroup,
  orderReplays,
  pauseReplayGroup,
  readReplayGroup,
  resumeReplayGroup,
} from './replay-groups.openapi.js';
import { untold } from './untold.js';

/** Replays to several webhooks of any partners, ordered at once. */
@Controller('replay-groups')
@Access({ kind: 'operator', role: 'operator' })
export class ReplayGroupsController {
  constructor(
    private readonly groups: ReplayGroups,
    private readonly webhooks: WebhookStates,
    private readonly log: ThrottledLog,
  ) {}

  @Post()
  @HttpCode(202)
  @Operation(orderReplays)
  async order(
    @StrictBody(ReplayGroupOrder) body: Body<ReplayGroupOrder>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ReplayGroupAnswer> {
    const wanted = body();
    const { targets, leftOut } = chosen(await this.webhooks.all(), wanted);
    if (targets.length > MOST_WEBHOOKS) throw tooMany(targets.length);
    const plan = await this.groups.plan(targets, windowOf(wanted), wanted.status, leftOut);
    if (wanted.dryRun) return countedGroup(plan, Date.now());
    if (plan.steps.length === 0)
      throw new ProblemError('conflict', 'None of the webhooks can get a replay.', {
        members: { leftOut: plan.leftOut },
      });
    const ordered = await this.groups.order(plan, actorOf(request));
    void reply.header('location', `/replay-groups/${ordered.id}`);
    return shownGroup(ordered);
  }

  @Get(':id')
  @Access({ kind: 'operator', role: 'viewer' })
  @Operation(readReplayGroup)
  async read(@Param('id') id: string): Promise<ReplayGroupAnswer> {
    return shownGroup(await this.#find(id));
  }

  /** Pauses first: that loses nothing, and a report that Kafka does not take is logged. */
  @Post(':id/pause')
  @HttpCode(200)
  @Operation(pauseReplayGroup)
  async pause(@Param('id') id: string, @Req() request: FastifyRequest): Promise<ReplayGroupAnswer> {
    await this.#findUnderWay(id);
    await this.groups.pause(id, actorOf(request), untold(this.log, request.id));
    return this.read(id);
  }

  @Post(':id/resume')
  @HttpCode(200)
  @Operation(resumeReplayGroup)
  async resume(@Param('id') id: string, @Req() request: FastifyRequest): Promise<ReplayGroupAnswer> {
    await this.#findUnderWay(id);
    await this.groups.resume(id, actorOf(request));
    return this.read(id);
  }

  /** Reports the end on `relay.operations` before it ends the replays. */
  @Delete(':id')
  @HttpCode(204)
  @Operation(cancelReplayGroup)
  async cancel(@Param('id') id: string, @Req() request: FastifyRequest): Promise<void> {
    await this.#find(id);
    await this.groups.cancel(id, actorOf(request));
  }

  async #find(id: string): Promise<ReplayGroupStatus> {
    const found = await this.groups.find(id);
    if (found === undefined) throw new ProblemError('not-found', 'There is no such group of replays.');
    return found;
  }

  async #findUnderWay(id: string): Promise<void> {
    const { endedAt } = await this.#find(id);
    if (endedAt !== undefined) throw new ProblemError('conflict', 'All replays of the group have ended.');
  }
}

/** The webhooks that an order is about, without those that are disabled or not registered. */
function chosen(
  all: readonly Webhook[],
  { webhooks: ids, partner, eventType, origin, status }: ReplayGroupOrder,
): { targets: ReplayTarget[]; leftOut: LeftOut[] } {
  const wanted = ids && new Set<string>(ids);
  const found = all.filter(
    (webhook) =>
      (wanted === undefined || wanted.has(webhook.id)) &&
      (partner === undefined || webhook.partnerId === partner) &&
      (eventType === undefined || webhook.eventType === eventType) &&
      (origin === undefined || webhook.origin === origin),
  );
  const known = new Set(found.map(({ id }) => id));
  const leftOutAs = (why: LeftOut['why'], webhookIds: readonly string[]): LeftOut[] =>
    webhookIds.map((webhookId) => ({ webhookId, why, replayId: null }));
  const disabled = found.filter((webhook) => webhook.status === 'disabled').map(({ id }) => id);
  return {
    targets: found
      .filter((webhook) => webhook.status !== 'disabled')
      .map(({ id: webhookId, partnerId, eventType: type }) => ({ webhookId, partnerId, eventType: type, status })),
    leftOut: [
      ...leftOutAs(
        'unknown',
        [...(wanted ?? [])].filter((id) => !known.has(id)),
      ),
      ...leftOutAs('disabled', disabled),
    ],
  };
}

function tooMany(count: number): ProblemError {
  const detail = `${count} webhooks are meant, and one order is for ${MOST_WEBHOOKS} at the most: name fewer.`;
  return new ProblemError('invalid-body', detail, { errors: [{ pointer: '', detail }] });
}
