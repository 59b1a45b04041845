import type { Provider } from '@nestjs/common';
import { HttpSender, Sender, TracedSender } from '@relay/delivery';
import { egressPolicy, guardedConnector } from '@relay/egress';
import { Log, openTracing, Tracing } from '@relay/telemetry';
import type { WorkerConfig } from '@relay/settings';

/** What an attempt goes out by, and the spans that tell of it. */
export function sendingProviders(config: WorkerConfig): Provider[] {
  const egress = egressPolicy({
    ports: config.EGRESS_PORTS,
    allowHttp: config.EGRESS_ALLOW_HTTP,
    allowCidrs: config.EGRESS_ALLOW_CIDRS,
    denyCidrs: config.EGRESS_DENY_CIDRS,
    nat64Prefix: config.EGRESS_NAT64_PREFIX,
  });
  return [
    { provide: Tracing, useFactory: (log: Log) => openTracing(config, 'partner-relay-worker', log), inject: [Log] },
    {
      provide: Sender,
      useFactory: (tracing: Tracing | undefined) => {
        const sender = new HttpSender(guardedConnector(egress, { proxyUrl: config.EGRESS_PROXY_URL }), {
          timeoutMs: config.DELIVERY_TIMEOUT,
          // Partners that share a host share no bound: the gate keeps each endpoint, a partner's host, to its own.
          connectionsPerOrigin: config.DELIVERY_CONCURRENCY,
        });
        return tracing === undefined ? sender : new TracedSender(sender, tracing);
      },
      inject: [Tracing],
    },
  ];
}
