import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { WebhookItems } from '@relay/webhooks';
import type { TestDeliveries, TestResult } from './test-deliveries.js';

/**
 * Where the operator wants it (`VERIFY_ENDPOINTS`), a webhook that is registered, or gets another URL or credential, is
 * disabled as `unverified` until a signed test delivery was answered 2xx: one made at once, or one that its partner asks for.
 * What comes for it meanwhile waits in the log.
 */
export class EndpointVerification {
  constructor(
    private readonly webhooks: WebhookItems,
    private readonly tests: TestDeliveries,
    private readonly isRequired: boolean,
    private readonly log: ThrottledLog,
  ) {}

  /** Tests a webhook that was registered or changed, beside the answer to that. */
  begin(partnerId: string, id: string): void {
    if (this.isRequired)
      void this.passes(partnerId, id).catch((error: unknown) =>
        this.log.warn('webhook.untested', 'A webhook could not be tested; its partner can have it done again', {
          webhookId: id,
          reason: reasonOf(error),
        }),
      );
  }

  /**
   * Sends a test to a webhook that is not verified; undefined where there is nothing to verify.
   * @throws ProblemError `too-many-requests`
   */
  async passes(partnerId: string, id: string): Promise<TestResult | undefined> {
    const found = await this.webhooks.find(partnerId, id);
    if (found?.details.disabledReason !== 'unverified') return undefined;
    const webhook = await this.webhooks.deliverable(partnerId, id);
    if (webhook === undefined) return undefined;
    const result = await this.tests.send(webhook);
    // Only as it was tested: one that got another URL meanwhile has a test of its own.
    if (result.delivered) await this.webhooks.enable(partnerId, id, webhook.version);
    return result;
  }
}
