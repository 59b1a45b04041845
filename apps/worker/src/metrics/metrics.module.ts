import { Module } from '@nestjs/common';
import { RegistryModule } from '../registry/registry.module.js';
import { ConsumerLag } from './consumer-lag.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import { ProcessMetrics } from './process-metrics.adapter.js';
import { StoreMetrics } from './store-metrics.adapter.js';

/** Metrics that belong to no single folder; the gauges of one folder are in that folder. */
@Module({
  imports: [RegistryModule],
  providers: [DeliveryMetrics, ConsumerLag, ProcessMetrics, StoreMetrics],
  exports: [DeliveryMetrics],
})
export class MetricsModule {}
