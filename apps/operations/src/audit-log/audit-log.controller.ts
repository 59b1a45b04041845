import { Controller, Get } from '@nestjs/common';
import { Access } from '@relay/http';
import { ListQuery, listOf, textsOf, type Asked } from '../http/routes.js';
import { AuditAnswer, AuditLog, AuditQuery } from './audit-log.adapter.js';

const Text = textsOf('Audit');

/** A route for the changes by operators and partners, and the actions of the relay itself. */
@Controller('audit')
@Access({ kind: 'operator', role: 'viewer' })
export class AuditLogController {
  constructor(private readonly log: AuditLog) {}

  @Get()
  @Text('readAudit', 'The newest records of relay.operations', {
    description:
      'A request looks at 5,000 records at most, so that an answer with few of them, or none, can have `before`: ask again with it.',
    query: AuditQuery,
    answer: listOf('The records.', AuditAnswer),
  })
  async read(@ListQuery(AuditQuery) { query, linkTo }: Asked<AuditQuery>): Promise<AuditAnswer> {
    const answer = await this.log.read(query);
    linkTo(answer.before ?? undefined, 'before');
    return answer;
  }
}
