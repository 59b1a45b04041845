import { Registry } from 'prom-client';
import { DeliveryMetrics } from './delivery-metrics.js';

it.each([
  'relay_deliveries_total{event_type="task.created",outcome="attempts_exhausted"} 0',
  'relay_deliveries_total{event_type="webhook.disabled",outcome="retry"} 0',
  'relay_delivery_attempts_total{event_type="task.created",status_class="5xx",error_type=""} 0',
  'relay_delivery_attempts_total{event_type="task.created",status_class="none",error_type="tls"} 0',
  'relay_expired_records_total 0',
])('counts from 0 on, so that a first failure is a rise: %s', async (line) => {
  const registry = new Registry();
  new DeliveryMetrics(registry).duplicate();
  expect(await registry.metrics()).toContain(line);
});
