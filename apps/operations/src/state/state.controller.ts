import { readQuery } from '@relay/http';
import { Controller, Get, Query, Redirect } from '@nestjs/common';
import type { ShownStatus } from '@relay/progress';
import type { Webhook } from '@relay/webhooks';
import { z } from 'zod';
import { BOARD_PATH } from '../board/board.adapter.js';
import { StoreState } from './store-state.adapter.js';

const WebhookQuery = z.strictObject({
  status: z.enum(['active', 'parked', 'disabled']).optional(),
  limit: z.coerce.number().int().min(1).max(10_000).default(1_000),
});

/** Queues, consumer lag, and webhooks by status. */
@Controller()
export class StateController {
  constructor(private readonly stores: StoreState) {}

  @Get()
  @Redirect(`${BOARD_PATH}/`, 302)
  home(): void {
    // `@Redirect` answers.
  }

  @Get('queues')
  async queues(): Promise<object> {
    return { queues: await this.stores.queues() };
  }

  @Get('lag')
  async lag(): Promise<object> {
    const topics = await this.stores.lag();
    return { total: topics.reduce((sum, { lag }) => sum + lag, 0), topics };
  }

  @Get('webhooks')
  async list(@Query() query: unknown): Promise<object> {
    const { status, limit } = readQuery(WebhookQuery, query);
    const all = await this.stores.webhooks();
    const found = status === undefined ? all : all.filter((shown) => shown.status === status);
    return { total: found.length, webhooks: found.slice(0, limit).map(shownOf) };
  }
}

/** Omits path and query of the URL: partners put keys there. */
function shownOf({ webhook, status }: { webhook: Webhook; status: ShownStatus }): object {
  const { id, partnerId, eventType, origin } = webhook;
  return { id, partnerId, eventType, origin, status };
}
