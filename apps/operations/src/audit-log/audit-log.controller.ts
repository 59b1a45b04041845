import { Controller, Get, Query } from '@nestjs/common';
import { Access, readQuery } from '@relay/http';
import { Operation } from '@relay/openapi';
import { AuditLog } from './audit-log.adapter.js';
import { type AuditAnswer, AuditQuery } from './audit-answers.js';
import { readAudit } from './audit-log.openapi.js';

/** What operators and partners changed, and what the relay did by itself. */
@Controller('audit')
@Access({ kind: 'operator', role: 'viewer' })
export class AuditLogController {
  constructor(private readonly log: AuditLog) {}

  @Get()
  @Operation(readAudit)
  read(@Query() query: unknown): Promise<AuditAnswer> {
    return this.log.read(readQuery(AuditQuery, query));
  }
}
