import { Module } from '@nestjs/common';
import { RegistryModule } from '../registry/registry.module.js';
import { ConsumerLag } from './consumer-lag.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import { ProcessMetrics } from './process-metrics.adapter.js';
import { StoreMetrics } from './store-metrics.adapter.js';

/** The metrics that belong to no single folder; gauges of one folder stand in it. */
@Module({
  imports: [RegistryModule],
  providers: [DeliveryMetrics, ConsumerLag, ProcessMetrics, StoreMetrics],
  exports: [DeliveryMetrics],
})
export class MetricsModule {}
