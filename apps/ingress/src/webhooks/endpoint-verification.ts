import { Inject, Injectable } from '@nestjs/common';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { WebhookStore, type Versions } from '@relay/webhooks';
import { TestDeliveries, type TestResult } from './test-deliveries.js';

/**
 * With `VERIFY_ENDPOINTS` a webhook that is registered, or gets another URL or credential, is disabled as `unverified` until its
 * endpoint answers a signed test delivery with 2xx. The relay sends a test at once; the partner can request further ones.
 * Meanwhile the deliveries wait in the log.
 */
@Injectable()
export class EndpointVerification {
  constructor(
    private readonly webhooks: WebhookStore,
    private readonly tests: TestDeliveries,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
    private readonly log: ThrottledLog,
  ) {}

  /** Tests a registered or changed webhook in the background. */
  begin(partnerId: string, id: string): void {
    if (this.config.VERIFY_ENDPOINTS)
      void this.passes(partnerId, id).catch((error: unknown) =>
        this.log.warn('webhook.untested', 'A webhook could not be tested; its partner can ask for another test', {
          webhookId: id,
          reason: reasonOf(error),
        }),
      );
  }

  /**
   * Tests an unverified webhook and enables the tested version if the test passes. A webhook that changed meanwhile is tested
   * again. Returns the last test; undefined if there is nothing to verify.
   * @throws ProblemError `too-many-requests`
   */
  async passes(partnerId: string, id: string): Promise<TestResult | undefined> {
    let result: TestResult | undefined;
    while (this.config.VERIFY_ENDPOINTS) {
      const found = await this.webhooks.find(partnerId, id);
      if (found?.details.disabledReason !== 'unverified') return result;
      const webhook = await this.webhooks.deliverable(partnerId, id);
      if (webhook === undefined) return result;
      result = await this.tests.send(webhook);
      if (!result.delivered) return result;
      const { kind } = await this.webhooks.enable(partnerId, id, [webhook.version]);
      if (kind !== 'stale') return result;
    }
    return result;
  }

  /**
   * Tests a webhook, and enables an unverified one that passes. Returns undefined for an unknown webhook.
   * @throws ProblemError `too-many-requests`
   */
  async test(partnerId: string, id: string): Promise<TestResult | undefined> {
    const verified = await this.passes(partnerId, id);
    if (verified !== undefined) return verified;
    const webhook = await this.webhooks.deliverable(partnerId, id);
    return webhook && this.tests.send(webhook);
  }

  /** Returns the failed test of an unverified webhook, which stays disabled. @throws ProblemError `too-many-requests` */
  async enable(
    partnerId: string,
    id: string,
    ifVersions?: Versions,
  ): Promise<'enabled' | 'not-found' | 'stale' | 'operator' | TestResult> {
    for (let named = ifVersions; ; named = undefined) {
      const found = await this.webhooks.find(partnerId, id);
      if (found === undefined) return 'not-found';
      if (named?.includes(found.version) === false) return 'stale';
      const { status, disabledReason } = found.details;
      if (status === 'active') return 'enabled';
      if (disabledReason === 'operator') return 'operator';
      if (this.config.VERIFY_ENDPOINTS && disabledReason === 'unverified') {
        const test = await this.passes(partnerId, id);
        if (test?.delivered === false) return test;
        continue;
      }
      // Only the version that was read is enabled: after a concurrent change, the URL is not verified and the state is unknown.
      const { kind } = await this.webhooks.enable(partnerId, id, [found.version]);
      if (kind === 'stale' && named !== undefined) return kind;
    }
  }
}
