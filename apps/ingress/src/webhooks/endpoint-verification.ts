import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { WebhookItems } from '@relay/webhooks';
import type { TestDeliveries, TestResult } from './test-deliveries.js';

/**
 * With `VERIFY_ENDPOINTS` a webhook that is registered, or gets another URL or credential, is disabled as `unverified`
 * until a signed test delivery is answered 2xx: one made at once, or one that its partner requests. Its deliveries wait
 * in the log meanwhile.
 */
export class EndpointVerification {
  constructor(
    private readonly webhooks: WebhookItems,
    private readonly tests: TestDeliveries,
    private readonly isRequired: boolean,
    private readonly log: ThrottledLog,
  ) {}

  /** Tests a new or changed webhook in the background. */
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
   * Tests an unverified webhook and enables it on success, in the version that was tested; a webhook changed meanwhile
   * is tested again.
   * @returns the last test; undefined for a verified webhook
   * @throws ProblemError `too-many-requests`
   */
  async passes(partnerId: string, id: string): Promise<TestResult | undefined> {
    let result: TestResult | undefined;
    while (this.isRequired) {
      const found = await this.webhooks.find(partnerId, id);
      if (found?.details.disabledReason !== 'unverified') return result;
      const webhook = await this.webhooks.deliverable(partnerId, id);
      if (webhook === undefined) return result;
      result = await this.tests.send(webhook);
      if (!result.delivered) return result;
      const { kind } = await this.webhooks.enable(partnerId, id, webhook.version);
      if (kind !== 'stale') return result;
    }
    return result;
  }

  /**
   * Enables a webhook; an unverified one only if a test passes, else the result of that test is returned.
   * @throws ProblemError `too-many-requests`
   */
  async enable(partnerId: string, id: string): Promise<'enabled' | 'not-found' | TestResult> {
    for (;;) {
      const test = await this.passes(partnerId, id);
      if (test !== undefined) return test.delivered ? 'enabled' : test;
      const found = await this.webhooks.find(partnerId, id);
      if (found === undefined) return 'not-found';
      if (this.isRequired && found.details.disabledReason === 'unverified') continue;
      // Enables the version that was read: a URL changed at the same time stays unverified.
      const { kind } = await this.webhooks.enable(partnerId, id, this.isRequired ? found.version : undefined);
      if (kind !== 'stale') return kind === 'not-found' ? kind : 'enabled';
    }
  }
}
