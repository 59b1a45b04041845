import { Controller, Get } from '@nestjs/common';
import { Access } from '@relay/http';
import { Operation } from '@relay/openapi';
import type { z } from 'zod';
import type { LagAnswer, QueuesAnswer } from './state-answers.js';
import { readLag, readQueues } from './state.openapi.js';
import { StoreState } from './store-state.adapter.js';

/** Queues and consumer lag. */
@Controller()
@Access({ kind: 'operator', role: 'viewer' })
export class StateController {
  constructor(private readonly stores: StoreState) {}

  @Get('queues')
  @Operation(readQueues)
  async queues(): Promise<z.infer<typeof QueuesAnswer>> {
    return { queues: await this.stores.queues() };
  }

  @Get('lag')
  @Operation(readLag)
  async lag(): Promise<z.infer<typeof LagAnswer>> {
    const topics = await this.stores.lag();
    return { total: topics.reduce((sum, { lag }) => sum + lag, 0), topics };
  }
}
