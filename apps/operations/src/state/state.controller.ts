import { Controller, Get, HttpCode, Redirect } from '@nestjs/common';
import { Access } from '@relay/http';
import { Operation } from '@relay/openapi';
import type { z } from 'zod';
import { BOARD_PATH } from '../board/board.adapter.js';
import type { LagAnswer, QueuesAnswer } from './state-answers.js';
import { readHome, readLag, readQueues } from './state.openapi.js';
import { StoreState } from './store-state.adapter.js';

/** Queues and consumer lag. */
@Controller()
@Access({ kind: 'operator', role: 'viewer' })
export class StateController {
  constructor(private readonly stores: StoreState) {}

  @Get()
  @HttpCode(302)
  @Redirect(`${BOARD_PATH}/`, 302)
  @Operation(readHome)
  home(): void {
    // `@Redirect` answers.
  }

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
