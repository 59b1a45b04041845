import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { Access, readQuery, linkToNext, type FastifyReply, type FastifyRequest } from '@relay/http';
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
  async read(
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AuditAnswer> {
    const answer = await this.log.read(readQuery(AuditQuery, query));
    linkToNext(request, reply, answer.before ?? undefined, { name: 'before' });
    return answer;
  }
}
