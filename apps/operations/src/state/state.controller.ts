import { Controller, Get, Header, Inject } from '@nestjs/common';
import { Access } from '@relay/http';
import { z } from 'zod';
import { answerOf, textsOf } from '../http/routes.js';
import { Examination, Findings } from './examination.adapter.js';
import { LagAnswer, Now, NowState, QueuesAnswer, StoreState } from './now-state.adapter.js';

/** Injection token of the function that gives the bytes of the OpenAPI document, which all answers share. */
export const DOCUMENT = Symbol('Document');

const Text = textsOf('State');

/** The present state of the relay, and the OpenAPI document. */
@Controller()
@Access({ kind: 'operator', role: 'viewer' })
export class StateController {
  constructor(
    private readonly stores: StoreState,
    private readonly state: NowState,
    private readonly examination: Examination,
    @Inject(DOCUMENT) private readonly built: () => Buffer,
  ) {}

  @Get('queues')
  @Text('readQueues', 'Jobs by queue and state', { answer: answerOf('Both queues.', QueuesAnswer) })
  async queues(): Promise<z.infer<typeof QueuesAnswer>> {
    return { queues: await this.stores.queues() };
  }

  @Get('lag')
  @Text('readLag', 'Unsettled records by topic', { answer: answerOf('Topics that exist.', LagAnswer) })
  async lag(): Promise<z.infer<typeof LagAnswer>> {
    const topics = await this.stores.lag();
    return { total: topics.reduce((sum, { lag }) => sum + lag, 0), topics };
  }

  @Get('now')
  @Text('readNow', 'Read lag, queues, rates and alerts at once', {
    answer: answerOf('As far as the stores answer.', Now),
  })
  now(): Promise<Now> {
    return this.state.read();
  }

  @Get('doctor')
  @Text('readFindings', 'Examine Redis, Kafka and the keys', {
    description: 'As `relay doctor` does; it changes nothing. Requests at the same time share one examination.',
    answer: answerOf('Every finding, with its fix.', Findings),
  })
  findings(): Promise<Findings> {
    return this.examination.read();
  }

  @Get('openapi.json')
  @Text('readOpenApi', 'This document', { answer: answerOf('The document.', z.looseObject({})) })
  @Header('content-type', 'application/json; charset=utf-8')
  document(): Buffer {
    return this.built();
  }
}
