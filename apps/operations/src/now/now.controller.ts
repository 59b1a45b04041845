import { Controller, Get } from '@nestjs/common';
import { Access } from '@relay/http';
import { Operation } from '@relay/openapi';
import type { z } from 'zod';
import type { Now } from './now-answers.js';
import { readNow } from './now.openapi.js';
import { NowState } from './now-state.adapter.js';

/** What the relay does at the moment, in one answer. */
@Controller('now')
@Access({ kind: 'operator', role: 'viewer' })
export class NowController {
  constructor(private readonly state: NowState) {}

  @Get()
  @Operation(readNow)
  read(): Promise<z.infer<typeof Now>> {
    return this.state.read();
  }
}
