import { PinoLog, ThrottledLog } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';
import { Registry } from 'prom-client';
import { DeliveryMetrics } from '../metrics/delivery-metrics.js';
import { RetentionReports } from './expiry-watch.js';

const EXPIRES = Date.parse('2026-11-27T12:00:00Z');
const webhook = { id: 'w', partnerId: 'p' } as Webhook;
const at = { topic: 'task.created', partition: 3 };

it('records that are about to expire are told to operators with their partition, and to the partner without', () => {
  const told: unknown[] = [];
  const reports = new RetentionReports(
    { report: (key, record) => void told.push([key, record]) },
    { tell: async (type, { id }, facts) => void told.push([type, id, facts]) },
    new DeliveryMetrics(new Registry()),
    new ThrottledLog(new PinoLog('spec', 'silent')),
  );
  reports.expiring(webhook, at, EXPIRES);
  const expiresFrom = '2026-11-27T12:00:00.000Z';
  expect(told).toEqual([
    ['w', { ...at, at: expect.any(String), event: 'webhook.expiring', webhookId: 'w', partnerId: 'p', expiresFrom }],
    ['deliveries.expiring', 'w', { expiresFrom }],
  ]);
});
