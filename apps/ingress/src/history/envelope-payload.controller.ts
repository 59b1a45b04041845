import { Controller, Get, Header, Param, Req, UseInterceptors } from '@nestjs/common';
import { Access, callerIdOf, callerOf, Portal, RateLimitInterceptor, type FastifyRequest } from '@relay/http';
import { Operation } from '@relay/openapi';
import { PartnerAudit } from '../access/partner-audit.js';
import { EnvelopePayloads } from './envelope-payloads.js';
import { HistoryQuota } from './history-quota.adapter.js';
import { readPayload } from './history.openapi.js';
import { POINTS_OF_A_SEARCH, readEnvelopeId, unknownEnvelope } from './named-envelope.js';
import { OwnWebhooks } from './own-webhooks.js';

/** An envelope as it was sent, for the partners it was delivered to. */
@Controller('deliveries/:envelopeId/payload')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
@UseInterceptors(RateLimitInterceptor)
export class EnvelopePayloadController {
  constructor(
    private readonly own: OwnWebhooks,
    private readonly payloads: EnvelopePayloads,
    private readonly quota: HistoryQuota,
    private readonly audit: PartnerAudit,
  ) {}

  @Get()
  @Portal('read')
  @Header('content-type', 'application/json')
  @Operation(readPayload)
  async read(@Param('envelopeId') given: string, @Req() request: FastifyRequest): Promise<Buffer> {
    const envelopeId = readEnvelopeId(given);
    const partnerId = callerIdOf(request);
    const owned = await this.own.ids(callerOf(request));
    await this.quota.admit(partnerId, POINTS_OF_A_SEARCH - 1);
    const bytes = await this.payloads.of(partnerId, envelopeId, owned);
    if (bytes === undefined) throw unknownEnvelope();
    await this.audit.reportOperator(request, 'envelope.read', { envelopeId });
    return bytes;
  }
}
