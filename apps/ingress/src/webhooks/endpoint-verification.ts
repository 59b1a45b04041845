import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { WebhookStore } from '@relay/webhooks';
import type { TestDeliveries, TestResult } from './test-deliveries.js';

/**
 * Where the operator wants it (`VERIFY_ENDPOINTS`), a webhook that is registered, or gets another URL or credential, is
 * disabled as `unverified` until a signed test delivery was answered 2xx: one made at once, or one that its partner asks for.
 * What comes for it meanwhile waits in the log.
 */
export class EndpointVerification {
  constructor(
    private readonly webhooks: WebhookStore,
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
   * Tests a webhook that is not verified and enables it if that passes, as it was tested: one that was changed meanwhile is
   * tested again. Returns the last test; undefined where there is nothing to verify.
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
   * Enables a webhook; one that is not verified only if a test passes, whose result is returned otherwise.
   * @throws ProblemError `too-many-requests`
   */
  async enable(partnerId: string, id: string): Promise<'enabled' | 'not-found' | TestResult> {
    for (;;) {
      const test = await this.passes(partnerId, id);
      if (test !== undefined) return test.delivered ? 'enabled' : test;
      const found = await this.webhooks.find(partnerId, id);
      if (found === undefined) return 'not-found';
      if (this.isRequired && found.details.disabledReason === 'unverified') continue;
      // As it was read: what is given another URL at the same time is not verified by this.
      const { kind } = await this.webhooks.enable(partnerId, id, this.isRequired ? found.version : undefined);
      if (kind !== 'stale') return kind === 'not-found' ? kind : 'enabled';
    }
  }
}
