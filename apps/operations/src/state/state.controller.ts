import { Controller, Get, Query, Redirect } from '@nestjs/common';
import type { ShownStatus } from '@relay/progress';
import type { Webhook } from '@relay/webhooks';
import { z } from 'zod';
import { BOARD_PATH } from '../board/board.adapter.js';
import { readQuery } from '../http/read-query.js';
import { Figures } from './figures.adapter.js';

const WebhookQuery = z.strictObject({
  status: z.enum(['active', 'parked', 'disabled']).optional(),
  limit: z.coerce.number().int().min(1).max(10_000).default(1_000),
});

/** What there is to see beside the board: queues, consumer lag, registrations by status. */
@Controller()
export class StateController {
  constructor(private readonly figures: Figures) {}

  @Get()
  @Redirect(`${BOARD_PATH}/`, 302)
  home(): void {
    // The decorator says it all.
  }

  @Get('queues')
  async queues(): Promise<object> {
    return { queues: await this.figures.queues() };
  }

  @Get('lag')
  async lag(): Promise<object> {
    const topics = await this.figures.lag();
    return { total: topics.reduce((sum, { lag }) => sum + lag, 0), topics };
  }

  @Get('webhooks')
  async list(@Query() query: unknown): Promise<object> {
    const { status, limit } = readQuery(WebhookQuery, query);
    const all = await this.figures.webhooks();
    const found = status === undefined ? all : all.filter((shown) => shown.status === status);
    return { total: found.length, webhooks: found.slice(0, limit).map(shownOf) };
  }
}

/** Without path and query of the address: partners put keys there. */
function shownOf({ webhook, status }: { webhook: Webhook; status: ShownStatus }): object {
  const { id, partnerId, eventType, origin } = webhook;
  return { id, partnerId, eventType, origin, status };
}
