import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { Access, type Body, type FastifyReply, type FastifyRequest, StrictBody } from '@relay/http';
import { Operation } from '@relay/openapi';
import { ProblemError } from '@relay/problem';
import { ReplayService } from '@relay/replays';
import { actorOf } from '../access/actor.js';
import { WebhookStates } from '../webhooks/webhook-states.adapter.js';
import { countedOf, type OperatorReplay, ReplayOrder, shownOf, windowOf } from './replay-answers.js';
import { orderReplay } from './replays.openapi.js';

/** Orders replays to the webhooks of any partner. */
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
  ): Promise<OperatorReplay> {
    const wanted = body();
    const found = await this.webhooks.find(wanted.webhook);
    if (found === undefined) throw new ProblemError('not-found', 'There is no such webhook.');
    if (found.status === 'disabled')
      throw new ProblemError('conflict', 'The webhook is disabled and gets nothing: enable it first.');
    const { id: webhookId, partnerId, eventType } = found;
    const target = { webhookId, partnerId, eventType, status: wanted.status };
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
}
