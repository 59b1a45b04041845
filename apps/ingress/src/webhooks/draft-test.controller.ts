import { randomBytes, randomUUID } from 'node:crypto';
import { Controller, HttpCode, Inject, Post, Req, UseInterceptors } from '@nestjs/common';
import type { EgressPolicy } from '@relay/egress';
import {
  Access,
  callerIdOf,
  IgnoresUnknown,
  Portal,
  RateLimitInterceptor,
  StrictBody,
  Waits,
  type Body,
  type FastifyRequest,
} from '@relay/http';
import { Operation } from '@relay/openapi';
import { INGRESS_CONFIG, type IngressConfig, policyOf } from '@relay/settings';
import { credentialOf, newSigningSecret, WebhookInput } from '@relay/webhooks';
import { PartnerAudit } from '../access/partner-audit.js';
import { draftOf } from './draft.js';
import { TestDeliveries, type DraftTestResult } from './test-deliveries.js';
import { testDraft } from './webhooks.openapi.js';

/** Tests an endpoint before its webhook is registered. Nothing of the registration is kept. */
@Controller('webhooks/test')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
@UseInterceptors(RateLimitInterceptor)
export class DraftTestController {
  readonly #policy: EgressPolicy;

  constructor(
    private readonly tests: TestDeliveries,
    private readonly audit: PartnerAudit,
    @Inject(INGRESS_CONFIG) config: IngressConfig,
  ) {
    this.#policy = policyOf(config);
  }

  @Post()
  @IgnoresUnknown()
  @Portal('register')
  @Waits()
  @HttpCode(200)
  @Operation(testDraft)
  async test(
    @StrictBody(WebhookInput) body: Body<WebhookInput>,
    @Req() request: FastifyRequest,
  ): Promise<DraftTestResult> {
    const draft = draftOf(body(), this.#policy);
    const credential = credentialOf(draft);
    if (credential === undefined) throw new TypeError('A webhook without a credential passed validation');
    const partnerId = callerIdOf(request);
    const secret = newSigningSecret(randomBytes(32));
    const { eventType, origin } = draft;
    await this.audit.reportOperator(request, 'webhook.tested', { eventType, origin });
    const result = await this.tests.sendDraft({
      id: randomUUID(),
      partnerId,
      eventType,
      url: draft.url,
      endpoint: `${partnerId} ${origin}`,
      opened: () => Promise.resolve({ credential: () => credential, secrets: () => [secret] }),
    });
    return { ...result, secret };
  }
}
